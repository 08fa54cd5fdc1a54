"""Reproduces the tables of accuracy and speed: trains every recipe of the tables, times prediction, and writes the tables.

python benchmarks/reproduce.py all --encoder minilm                    both tables, every architecture on every corpus
python benchmarks/reproduce.py accuracy biaffine-genia-minilm-seed0    only these trainings, by the names of their results files
python benchmarks/reproduce.py speed --encoder minilm --minutes 20     only prediction speed, with this encoder
python benchmarks/reproduce.py train recipes/biaffine/genia.yaml --set data.folder=DATA    one training, scored on test

A cell of a table is a recipe with an encoder and a seed: recipes/ARCHITECTURE/CORPUS.yaml, data/CORPUS, and the encoder in the
folder of its name. Trainings run in parallel on one GPU. What is done is not run again by a second call; when --minutes are over,
trainings stop and are scored with their best epoch so far.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs import Job, log, run_jobs
from results import CORPORA
from script import RESULTS, add_plugins, import_plugins, parser_of, run
from tables import update_pages

import anyner
from anyner.architectures.registry import names as architectures
from anyner.benchmark.accuracy import name_of, scored, test_documents, trained
from anyner.benchmark.record import write
from anyner.benchmark.speed import Entrant, speeds
from anyner.errors import AnynerError
from anyner.training.config import Recipe
from anyner.training.progress import TerminalListener

ENCODERS = {"minilm": 7.0, "mpnet": 23.0}
"""Encoders of the tables, with the gigabytes of GPU memory that a training needs at most."""
RECIPES = Path(__file__).resolve().parent.parent / "recipes"
EPOCHS_AT_LEAST = 3
NOT_FOR_SPEED = ("data.held_out", "training.adversarial", "training.average_epochs")
"""Recipe keys that make a better model and no slower one: trainings for timing leave them out."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One training of the tables."""

    architecture: str
    corpus: str
    encoder: str
    seed: int

    @classmethod
    def named(cls, name: str) -> Cell:
        found = re.fullmatch(r"(\w+)-(\w+)-(\w+)-seed(\d+)", name)
        if found is None or not (cell := cls(found[1], found[2], found[3], int(found[4]))).recipe.is_file():
            raise AnynerError(f"there is no training {name}: write ARCHITECTURE-CORPUS-ENCODER-seedN")
        return cell

    @property
    def name(self) -> str:
        return f"{self.architecture}-{self.corpus}-{self.encoder}-seed{self.seed}"

    @property
    def recipe(self) -> Path:
        return RECIPES / self.architecture / f"{self.corpus}.yaml"

    @property
    def changes(self) -> list[str]:
        return [f"data.folder=data/{self.corpus}", f"encoder.source={self.encoder}", f"training.seed={self.seed}"]

    @property
    def gigabytes(self) -> float:
        return ENCODERS.get(self.encoder, max(ENCODERS.values()))

    def command(self, *options: str, changes: Sequence[str] = ()) -> tuple[str, ...]:
        """That trains and scores it, with this interpreter."""
        recipe = f"recipes/{self.architecture}/{self.corpus}.yaml"
        sets = [part for change in (*self.changes, *changes) for part in ("--set", change)]
        return (sys.executable, "benchmarks/reproduce.py", "train", recipe, *sets, "--name", self.name, *options)


def cells(arguments: Namespace, seeds: int) -> list[Cell]:
    """Those named, or all of the tables with these encoders."""
    if arguments.results:
        return [Cell.named(name) for name in arguments.results]
    encoders = [arguments.encoder] if arguments.encoder else list(ENCODERS)
    every = [Cell(a, c, e, s) for e in encoders for c in CORPORA for a in architectures() for s in range(seeds)]
    return [cell for cell in every if cell.recipe.is_file()]


# One training.


def train(arguments: Namespace) -> None:
    """Trains a recipe and writes its scores to a results file."""
    import_plugins(arguments.plugin)
    recipe = Recipe.read(arguments.recipe, arguments.set)
    test = None if arguments.dev_only else test_documents(recipe)
    with tempfile.TemporaryDirectory() as temporary, TerminalListener() as listener:
        folder = Path(arguments.keep or f"{temporary}/model")
        trained(recipe, folder, listener, keep_interrupted=True, resume=True)
        result = scored(folder, test, arguments.side_by_side)
    name = arguments.name or name_of(recipe)
    path = Path(arguments.output) / f"{name}.json"
    write(result, path)
    scores = {"dev": result["dev_f1"], "test": result["test"]["strict"]["f1"] if "test" in result else None}
    shown = "".join(f"{part} F1 {f1:.4f}, " for part, f1 in scores.items() if f1 is not None)
    print(f"{name}: {shown}{result['training_seconds']:.0f} s -> {path}")


# Accuracy and speed.


def accuracy(arguments: Namespace) -> None:
    """Trains the cells and scores them on test; each writes its results file."""
    jobs = [Job(cell.name, cell.command(), gigabytes=cell.gigabytes) for cell in cells(arguments, arguments.seeds)]
    if arguments.list:
        for job in jobs:
            print(f"{job.name}: {shlex.join(job.command[1:])}")
        return
    folder, seconds = Path(arguments.runs) / "accuracy", 60 * arguments.minutes
    if missing := run_jobs(jobs, folder, lanes=arguments.lanes, gigabytes=arguments.gigabytes, seconds=seconds):
        raise AnynerError(f"not done, see the logs in {folder}: {', '.join(missing)}")


def brief(cell: Cell) -> list[str]:
    """Changes that cut a recipe down to half the epochs: what a sentence costs in prediction does not depend on the last points
    of F1, but on the settings and on the number of entities found."""
    epochs = max(EPOCHS_AT_LEAST, math.ceil(Recipe.read(cell.recipe).training.epochs / 2))
    return [f"training.epochs={epochs}", *(f"{key}=null" for key in NOT_FOR_SPEED)]


def speed(arguments: Namespace) -> None:
    """Trains a model for each cell, then times all of them in turn, with nothing beside them."""
    asked, folder = {cell.name: cell for cell in cells(arguments, seeds=1)}, Path(arguments.runs) / "speed"
    jobs = []
    for cell in asked.values():
        options = ("--dev-only", "--keep", str(folder / cell.name), "--side-by-side", str(arguments.lanes), "-o", str(folder))
        jobs.append(Job(cell.name, cell.command(*options, changes=brief(cell)), gigabytes=cell.gigabytes))
    limits = {"lanes": arguments.lanes, "gigabytes": arguments.gigabytes, "seconds": 60 * arguments.minutes}
    run_jobs(jobs, folder / "logs", **limits)
    ready = [name for name in asked if (folder / f"{name}.json").is_file()]
    entrants = [_entrant(folder / name, asked[name]) for name in ready]
    for name, measured in zip(ready, speeds(entrants, arguments.repeats), strict=True):
        training = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        result = {**measured, "trained_for": {key: training[key] for key in ("epochs", "dev_f1")}}
        write(result, Path(arguments.output) / f"speed-{name.rpartition('-')[0]}.json")
        log(f"{name}: {measured['end_to_end_sentences_per_second']:,.0f} sentences a second")
    if missing := sorted(set(asked) - set(ready)):
        raise AnynerError(f"not trained, see the logs in {folder / 'logs'}: {', '.join(missing)}")


def _entrant(model: Path, cell: Cell) -> Entrant:
    """A model with the test documents of its corpus."""
    test = next(iter(sorted(Path(f"data/{cell.corpus}").glob("test.jsonl*"))), None)
    if test is None:
        raise AnynerError(f"data/{cell.corpus}: has no test documents")
    return Entrant(anyner.load(model), anyner.read(str(test)).documents, cell.corpus)


def everything(arguments: Namespace) -> None:
    """Accuracy, then speed, then the tables."""
    accuracy(arguments)
    if not arguments.list:
        speed(arguments)
        update_pages()


# Command line.


def _add_train(parser: ArgumentParser) -> None:
    parser.add_argument("recipe")
    parser.add_argument("--set", action="append", default=[], help="key.sub=value, as `anyner train` takes it")
    parser.add_argument("--name", help="name of the results file; default: architecture-corpus-encoder-seed")
    parser.add_argument("--dev-only", action="store_true", help="do not score on test: for choosing between variants")
    parser.add_argument("--keep", help="keep the model in this folder; an unfinished one is resumed, a finished one only scored")
    parser.add_argument("--side-by-side", type=int, default=1, help="number of trainings that share the GPU, to be noted")
    parser.add_argument("-o", "--output", default="benchmarks/results")
    add_plugins(parser)


def _add_limits(parser: ArgumentParser) -> None:
    parser.add_argument("results", nargs="*", metavar="NAME", help="names of results files; default: all of the tables")
    parser.add_argument("--encoder", help="only this encoder; default: all of the tables")
    parser.add_argument("--minutes", type=float, default=1e6, help="for all trainings together")
    parser.add_argument("--lanes", type=int, default=16, help="most trainings at once")
    parser.add_argument("--gigabytes", type=float, default=130, help="GPU memory for all of them")
    parser.add_argument("--runs", default="runs/reproduce", help="folder of logs and models; what is done there is kept")


def main() -> None:
    parser = parser_of(__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, work in (("all", everything), ("accuracy", accuracy), ("speed", speed), ("train", train)):
        own = commands.add_parser(name, help=work.__doc__, description=work.__doc__)
        own.set_defaults(work=work)
        if work is train:
            _add_train(own)
            continue
        _add_limits(own)
        if work is not speed:
            own.add_argument("--list", action="store_true", help="only print the commands of the trainings")
            own.add_argument("--seeds", type=int, default=3, help="trainings of each cell, with seeds from 0")
        if work is not accuracy:
            own.add_argument("--repeats", type=int, default=5, help="runs of each timing; the fastest counts")
            own.add_argument("-o", "--output", default=str(RESULTS), help="folder of the speed results")
    arguments = parser.parse_args()
    arguments.work(arguments)


if __name__ == "__main__":
    run(main)
