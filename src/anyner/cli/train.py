"""`anyner train`: from a recipe to a model folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyner.cli.choices import ChangesOption, QuietOption, listening
from anyner.cli.output import say, warn_nothing_learned
from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.document import Document
    from anyner.training.config import Recipe
    from anyner.training.run import TrainingResult

_DEFAULT_ENCODER = "bundled:general-en"
"""The default with --data: no download, and far better on little data than an encoder trained from scratch."""


def train(
    recipe: Annotated[Path | None, typer.Argument(metavar="RECIPE", help="The recipe, a YAML file.")] = None,
    *,
    data: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Instead of a recipe: a folder with train and dev files, or synthetic[:contiguous]."),
    ] = None,
    architecture: Annotated[
        str | None, typer.Option(metavar="A", help="With --data. Default: chosen by the shapes of its entities.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="E", help="With --data: a folder, a hub id, bundled:NAME (default: bundled:general-en), or from_scratch."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="The model folder. Default: runs/NAME, after the recipe or corpus."),
    ] = None,
    changes: ChangesOption = None,
    quality: Annotated[
        str, typer.Option(metavar="Q", help="fast (minutes), standard, or best (pre-training, five folds, refit: hours).")
    ] = "standard",
    texts: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="With --quality best: unannotated texts to learn from. Repeatable."),
    ] = None,
    refit_from: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Train on train and dev, with the epoch and thresholds of this cross-validation or trained model."
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the interrupted training in DIR.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Train a model and keep the best epoch on dev.

    \b
    Examples:
      anyner train --data data/mine -o runs/mine
      anyner train --data data/mine --architecture nag_ner --encoder models/minilm -o runs/nag
      anyner train --data data/mine --quality best --texts notes/ -o runs/mine-best
      anyner train --data synthetic:contiguous --architecture biaffine --encoder from_scratch -o runs/first
      anyner train recipes/biaffine/demo.yaml --set training.seed=1 -o runs/demo
      anyner train --refit-from runs/mine -o runs/mine-all
      anyner train -o runs/mine --resume
    """
    _check_start(recipe, data, refit_from, output, resume, chosen=bool(architecture or encoder))
    if refit_from is not None:
        ready = _refit_recipe(refit_from, recipe, changes or [])
    elif data is not None:
        ready = _recipe_for(data, architecture, encoder or _DEFAULT_ENCODER, changes or [])
    else:
        ready = _recipe_in(recipe, output, changes or [])
    # data/genia/ -> genia, synthetic:contiguous -> synthetic-contiguous
    corpus = Path(data or "").resolve().name.replace(":", "-")
    name = recipe.stem if recipe else f"{architecture}-{corpus}" if architecture else corpus
    by_default = data is not None and not (encoder or resume) and ready.encoder.source == _DEFAULT_ENCODER  # --set may name one
    note = f"note: no --encoder given, using {_DEFAULT_ENCODER}, an English encoder" if by_default else None
    work = {"quality": quality, "texts": _documents(texts or []), "resume": resume}
    _print_result(_run(ready, output or Path("runs") / name, work, quiet, note))


def _check_start(
    recipe: Path | None, data: str | None, refit_from: Path | None, output: Path | None, resume: bool, *, chosen: bool
) -> None:
    """Rejects contradictory options. `chosen`: --architecture or --encoder is given."""
    if recipe is not None and (data or chosen):
        raise typer.BadParameter("--data, --architecture and --encoder replace a RECIPE: use --set to change its keys")
    if (resume or refit_from is not None) and chosen:
        raise typer.BadParameter("--architecture and --encoder need --data and a new training")
    if refit_from is not None and (resume or data):
        raise typer.BadParameter("--refit-from starts a new training: use it with a RECIPE or alone, without --data or --resume")
    if refit_from is not None and output is None:
        raise typer.BadParameter("--refit-from needs -o DIR for the new model")
    if recipe is None and data is None and refit_from is None and not (resume and output):
        raise typer.BadParameter("give a RECIPE, or --data DIR, or --refit-from DIR, or -o DIR --resume")


def _recipe_for(data: str, architecture: str | None, encoder: str, changes: list[str]) -> Recipe:
    from anyner.cli.corpus import recipe_data
    from anyner.training.config import Recipe, changed

    plain: dict[str, Any] = {"data": recipe_data(data), "encoder": {"source": encoder}}
    if architecture is not None:
        plain["architecture"] = architecture
    return Recipe.of(changed(plain, changes), "recipe")


def _recipe_in(recipe: Path | None, output: Path | None, changes: list[str]) -> Recipe:
    """The recipe of a file, or of the unfinished training in a folder."""
    from anyner.storage.files import RECIPE
    from anyner.training.config import Recipe

    if recipe is None and output is not None:
        recipe = output / RECIPE
        if not recipe.is_file():
            raise AnynerError(f"{output} has no {RECIPE}: there is no training to resume")
    return Recipe.read(recipe or "", changes)


def _refit_recipe(folder: Path, recipe: Path | None, changes: list[str]) -> Recipe:
    """A recipe, by default the one in the folder, with the epoch and thresholds found there."""
    from anyner.storage.files import RECIPE
    from anyner.training.config import Recipe
    from anyner.training.cross_validation import read_refit, with_refit

    read_refit(folder)  # before the recipe: its error says more about a wrong folder
    return with_refit(Recipe.read(recipe or folder / RECIPE, changes), folder)


def _documents(texts: list[str]) -> list[Document]:
    from anyner.cli.texts import Files

    return Files(texts).all_documents()


def _run(recipe: Recipe, folder: Path, work: dict[str, Any], quiet: bool, note: str | None) -> TrainingResult:
    from anyner.api import train as train_recipe
    from anyner.storage.files import DiskFullError
    from anyner.training.checkpoint import has_checkpoint

    quality = work["quality"]
    fast = " --quality fast" if quality == "fast" else ""  # the recipe does not say how often dev is scored
    again = "the same command" if quality == "best" else f"anyner train{fast} -o {shlex.quote(str(folder))} --resume"
    try:
        with listening(quiet, note, f"continue with: {again}") as listener:
            return train_recipe(recipe, folder, listener=listener, **work)
    except DiskFullError as error:
        raise AnynerError(f"{error}: {again}" if has_checkpoint(folder) else str(error)) from None


def _print_result(result: TrainingResult) -> None:
    from anyner.training.processes import is_main_process

    if not is_main_process():
        return
    outcome = result.outcome
    dev = f"dev F1 {100 * outcome.best_f1:.2f}" if outcome.best_f1 is not None else "trained on train and dev"
    say(f"{result.folder}: {dev} (epoch {outcome.best_epoch + 1} of {outcome.epochs})")
    if outcome.best_f1 == 0:
        warn_nothing_learned()
