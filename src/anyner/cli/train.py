"""`anyner train`: from a recipe to a model folder."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyner.cli.output import say, tell_nothing_learned
from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.training.config import Recipe
    from anyner.training.run import TrainingResult

_DEFAULT_ENCODER = "bundled:general-en"
"""Of a training with --data: it needs no download, and learns far more from few sentences than a network with new weights."""


def train(
    recipe: Annotated[Path | None, typer.Argument(metavar="RECIPE", help="A YAML file that says what to train on what.")] = None,
    *,
    data: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Instead of a recipe: a folder with train and dev files, or synthetic[:contiguous]."),
    ] = None,
    architecture: Annotated[str | None, typer.Option(metavar="A", help="With --data. Default: biaffine.")] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="E", help="With --data: a folder, a hub id, bundled:NAME (default: bundled:general-en), or fresh, untrained."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="The model folder. Default: runs/NAME of the recipe.")
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe, as training.epochs=5.")
    ] = None,
    as_model: Annotated[
        Path | None,
        typer.Option("--as", metavar="MODEL", help="Learn from dev as well, with what was best for this model or DIR of choose."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the training that was stopped in DIR.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on the way.")] = False,
) -> None:
    """Train a model; the folder holds the best epoch, judged on dev.

    \b
    Examples:
      anyner train recipes/biaffine/genia.yaml --set encoder.source=models/minilm -o runs/genia
      anyner train --data data/mine -o runs/mine
      anyner train --data synthetic:contiguous --architecture biaffine --encoder fresh -o runs/first
      anyner train --as runs/genia -o runs/genia-all
      anyner train -o runs/genia --resume
    """
    if recipe is not None and (data or architecture or encoder):
        raise typer.BadParameter("--data, --architecture and --encoder stand in for RECIPE: change one with --set")
    if (resume or as_model is not None) and (architecture or encoder):
        raise typer.BadParameter("--architecture and --encoder are for a new training with --data")
    if as_model is not None and (resume or data):
        raise typer.BadParameter("--as starts a new training, with a RECIPE or with that of MODEL")
    if as_model is not None and output is None:
        raise typer.BadParameter("--as needs -o DIR: MODEL stays as it is")
    if recipe is None and data is None and as_model is None and not (resume and output):
        raise typer.BadParameter("give a RECIPE, or --data DIR, or --as MODEL, or -o DIR --resume")
    if as_model is not None:
        ready = _recipe_as(as_model, recipe, changes or [])
    elif data is not None:
        ready = _recipe_for(data, architecture or "biaffine", encoder or _DEFAULT_ENCODER, changes or [])
    else:
        ready = _recipe_in(recipe, output, changes or [])
    folder = output or Path("runs") / (recipe.stem if recipe else f"{ready.architecture}-{_plain_name(data or '')}")
    by_default = data is not None and not (encoder or resume) and ready.encoder.source == _DEFAULT_ENCODER  # see --set
    note = f"note: no --encoder given: training starts from {_DEFAULT_ENCODER}, an English encoder" if by_default else None
    _tell(_run(ready, folder, resume, quiet, note))


def _recipe_for(data: str, architecture: str, encoder: str, changes: list[str]) -> Recipe:
    from anyner.cli.corpus import recipe_data
    from anyner.training.config import Recipe, changed

    plain = {"data": recipe_data(data), "architecture": architecture, "encoder": {"source": encoder}}
    if encoder == "fresh":  # all weights are new: they want larger steps, and a layer that learns order fast
        plain["encoder"] = {"source": encoder, "lstm_layers": 1}
        plain["training"] = {"encoder_lr": 1e-3, "head_lr": 2e-3, "word_dropout": 0.3}
    return Recipe.of(changed(plain, changes), "recipe")


def _recipe_in(recipe: Path | None, output: Path | None, changes: list[str]) -> Recipe:
    """The recipe of a file, else the one that an unfinished training left in its folder."""
    from anyner.storage.files import RECIPE
    from anyner.training.config import Recipe

    if recipe is None and output is not None:
        recipe = output / RECIPE
        if not recipe.is_file():
            raise AnynerError(f"{output}: holds no {RECIPE}, so there is no training to resume")
    return Recipe.read(recipe or "", changes)


def _recipe_as(model: Path, recipe: Path | None, changes: list[str]) -> Recipe:
    """A recipe, or that of the model, with what was best for the model."""
    from anyner.storage.files import RECIPE
    from anyner.training.chosen import best_in, with_dev
    from anyner.training.config import Recipe

    best_in(model)  # tells what the folder is not, where it holds no recipe either
    return with_dev(Recipe.read(recipe or model / RECIPE, changes), model)


def _run(recipe: Recipe, folder: Path, resume: bool, quiet: bool, note: str | None) -> TrainingResult:
    from anyner.api import train as train_recipe
    from anyner.storage.files import DiskFullError
    from anyner.training.checkpoint import has_checkpoint
    from anyner.training.loop import Interrupted
    from anyner.training.progress import TerminalListener

    again = f"anyner train -o {shlex.quote(str(folder))} --resume"
    try:
        with nullcontext() if quiet else TerminalListener(note) as listener:
            return train_recipe(recipe, folder, resume=resume, listener=listener)
    except Interrupted as stopped:
        say(f"anyner: stopped, and all is saved: go on with: {again}", err=True)
        raise typer.Exit(stopped.exit_code) from None
    except DiskFullError as error:
        raise AnynerError(f"{error}: {again}" if has_checkpoint(folder) else str(error)) from None


def _tell(result: TrainingResult) -> None:
    outcome = result.outcome
    dev = f"dev F1 {100 * outcome.best_f1:.2f}" if outcome.best_f1 is not None else "learned from dev as well"
    say(f"{result.folder}: {dev} (epoch {outcome.best_epoch + 1} of {outcome.epochs})")
    if outcome.best_f1 == 0:
        tell_nothing_learned()


def _plain_name(data: str) -> str:
    """`data/genia/` -> genia, `synthetic:contiguous` -> synthetic-contiguous."""
    return Path(data).resolve().name.replace(":", "-")
