"""`anyner benchmark`: accuracy, speed and memory of a recipe or a model, one results file each."""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anyner.cli.corpus import CORPUS_HELP, read_corpus, tell_problems
from anyner.cli.output import say
from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.document import Document
    from anyner.training.config import Recipe

PARTS = ("accuracy", "speed", "memory")
WORDS = (20_000, 80_000)
"""Lengths of the two documents whose memory is compared."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is measured of every model alike."""

    corpus: str | None
    documents: tuple[Document, ...] | None
    output: Path
    repeats: int

    def named(self, recipe: Recipe) -> str:
        """The corpus that is measured on."""
        from anyner.benchmark.accuracy import corpus_of
        from anyner.benchmark.record import corpus_name

        return corpus_name(self.corpus) if self.corpus else corpus_of(recipe)

    def path(self, recipe: Recipe, part: str) -> Path:
        from anyner.benchmark.accuracy import name_of

        name = name_of(recipe, self.named(recipe))
        return self.output / (f"{name}.json" if part == "accuracy" else f"{part}-{name}.json")


def benchmark(
    subject: Annotated[str, typer.Argument(metavar="RECIPE|MODEL", help="A recipe to train, or the folder of a trained model.")],
    corpus: Annotated[
        str | None, typer.Argument(metavar="CORPUS", help=f"The test corpus. Default: the recipe's test files. {CORPUS_HELP}")
    ] = None,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Output folder of the results.")] = Path(
        "results"
    ),
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a recipe key, e.g. training.epochs=5.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Number of trainings, with seeds from training.seed on.")] = 1,
    only: Annotated[
        list[str] | None, typer.Option(metavar="PART", help="accuracy, speed or memory; repeatable. Default: all of them.")
    ] = None,
    keep: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the trained models in this folder.")] = None,
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="Report the fastest of so many timings.")] = 3,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Measure accuracy, speed and memory of a recipe or a model.

    One JSON file each.

    The files have the form of benchmarks/results in anyner's own project, so that tables are made from both alike.

    \b
    Examples:
      anyner benchmark recipe.yaml --seeds 3
      anyner benchmark runs/genia data/genia/test.jsonl --only speed -o results
    """
    parts = _checked_parts(only)
    if output.exists() and not output.is_dir():
        raise AnynerError(f"{output}: is a file, not a folder for results")
    wanted = _Wanted(corpus, _documents(corpus) if corpus else None, output, repeats)
    with ExitStack() as stack:
        if Path(subject).suffix in (".yaml", ".yml"):
            folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            recipes = _recipes(subject, changes or [], seeds, needs_test=wanted.documents is None)
            if "accuracy" in parts:  # before any is trained
                for recipe in recipes:
                    _check_free(wanted.path(recipe, "accuracy"), recipe)
            models = _trained(recipes, folder, quiet)
        else:
            if changes or keep or seeds > 1:
                raise typer.BadParameter("--set, --seeds and --keep are for a recipe; this is a model that is trained")
            if not Path(subject).is_dir():
                raise AnynerError(f"there is no model folder {subject}, and a recipe ends in .yaml")
            models = [Path(subject)]
        for number, model in enumerate(models):
            own = parts if number == 0 else parts & {"accuracy"}  # speed and memory do not depend on the seed
            for part in (one for one in PARTS if one in own):
                if not quiet:
                    say(f"measuring {part} of {model}", err=True)
                _measure(part, model, wanted)


def _checked_parts(only: list[str] | None) -> frozenset[str]:
    for part in only or ():
        if part not in PARTS:
            raise typer.BadParameter(f"{part!r} is not one of {', '.join(PARTS)}", param_hint="--only")
    return frozenset(only or PARTS)


def _documents(corpus: str) -> tuple[Document, ...]:
    gold = read_corpus(corpus, split="test")
    tell_problems(gold.problems)
    if not gold.documents:
        raise AnynerError(f"{corpus}: holds no document to score on")
    return gold.documents


def _recipes(recipe: str, changes: list[str], seeds: int, needs_test: bool) -> list[Recipe]:
    """One for each seed. What is missing is told before any of them is trained."""
    from anyner.benchmark.accuracy import test_documents
    from anyner.training.config import Recipe

    own = Recipe.read(recipe, changes)
    if needs_test:
        test_documents(own)
    return [Recipe.read(recipe, [*changes, f"training.seed={own.training.seed + number}"]) for number in range(seeds)]


def _check_free(path: Path, recipe: Recipe) -> None:
    """Results of the same recipe are written anew; those of another would be lost."""
    if not path.is_file():
        return
    try:
        other = json.loads(path.read_text(encoding="utf-8"))["recipe"]
    except (ValueError, KeyError, TypeError):
        other = None
    if other != recipe.model_dump(mode="json", exclude_defaults=True):
        raise AnynerError(f"{path} holds something else than a result of this recipe: choose another folder with -o")


def _trained(recipes: list[Recipe], folder: Path, quiet: bool) -> list[Path]:
    from anyner.benchmark.accuracy import name_of, trained
    from anyner.training.progress import Silent, TerminalListener

    models = [folder / name_of(one) for one in recipes]
    for one, model in zip(recipes, models, strict=True):
        if quiet:
            trained(one, model, Silent())
        else:
            with TerminalListener() as listener:
                trained(one, model, listener)
    return models


def _measure(part: str, model: Path, wanted: _Wanted) -> None:
    from anyner.benchmark.accuracy import scored, test_documents, training_of
    from anyner.benchmark.memory import memory
    from anyner.benchmark.record import write
    from anyner.benchmark.speed import Entrant, speed
    from anyner.storage.load import load

    recipe, _ = training_of(model)
    documents = wanted.documents if wanted.documents is not None else test_documents(recipe)
    path = wanted.path(recipe, part)
    result: dict[str, Any]
    if part == "accuracy":
        _check_free(path, recipe)
        result = scored(model, documents, scored_on=wanted.corpus)
        told = f"strict F1 {100 * result['test']['strict']['f1']:.2f} on {len(documents):,} documents"
    elif part == "speed":
        result = speed(Entrant(load(model), documents, wanted.named(recipe)), wanted.repeats)
        told = f"{result['end_to_end_sentences_per_second']:,.0f} documents a second, device ratio {result['device_ratio']:.2f}"
    else:
        result = memory(str(model), WORDS)
        grown = result["growth_beyond_bytes"] / 2**20
        told = f"{grown:,.1f} MiB more for {WORDS[1]:,} words than for {WORDS[0]:,}"
    write(result, path)
    say(f"{path}: {told}")
