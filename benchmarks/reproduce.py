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
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch
from jobs import Job, log, run_jobs
from results import CORPORA, name_of
from script import RESULTS, add_plugins, header, import_plugins, parser_of, run, write
from speed import Entrant, speeds, with_neighbours
from tables import update_pages

import anyner
from anyner.architectures.registry import names as architectures
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.evaluation.evaluate import evaluate_documents
from anyner.inference.recognizer import Recognizer
from anyner.storage.files import CONFIG, RECIPE
from anyner.training.checkpoint import has_checkpoint
from anyner.training.config import Recipe
from anyner.training.data.splits import read_data
from anyner.training.progress import Listener, TerminalListener

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
    test = None if arguments.dev_only else read_data(recipe.data, recipe.text).test
    if test is not None and not test:
        raise AnynerError(f"{arguments.recipe}: names no test documents: add --dev-only")
    with tempfile.TemporaryDirectory() as temporary, TerminalListener() as listener:
        folder = Path(arguments.keep or f"{temporary}/model")
        train_or_resume(recipe, folder, listener)
        result = scored(folder, test, arguments.side_by_side)
    name = arguments.name or name_of(result)
    path = Path(arguments.output) / f"{name}.json"
    write(result, path)
    scores = {"dev": result["dev_f1"], "test": result["test"]["strict"]["f1"] if "test" in result else None}
    shown = "".join(f"{part} F1 {f1:.4f}, " for part, f1 in scores.items() if f1 is not None)
    print(f"{name}: {shown}{result['training_seconds']:.0f} s -> {path}")


def train_or_resume(recipe: Recipe, folder: Path, listener: Listener | None) -> None:
    """Continues what an earlier try began; what it completed with this recipe stays as it is.

    A training that is interrupted can be scored by its best epoch so far; the result says how many epochs it had.
    """
    # from the first batch to the end of a training a checkpoint lies beside the model
    ended = (folder / CONFIG).is_file() and (folder / RECIPE).is_file() and not has_checkpoint(folder)
    if ended and _has_keys(Recipe.read(folder / RECIPE).plain(), recipe.plain()):
        return
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    try:
        anyner.train(recipe, folder, resume=has_checkpoint(folder), listener=listener)
    except KeyboardInterrupt:
        if not (folder / CONFIG).is_file():
            raise


def _has_keys(saved: Any, wanted: Any) -> bool:
    """Whether a saved recipe, in which nothing is open, has what a recipe wants."""
    if isinstance(saved, dict) and isinstance(wanted, dict):
        return all(key in saved and _has_keys(saved[key], value) for key, value in wanted.items())
    return bool(saved == wanted)


def scored(folder: Path, documents: Sequence[Document] | None, side_by_side: int = 1) -> dict[str, Any]:
    """How a model folder was trained and, unless there are no `documents`, its scores on them."""
    recipe = Recipe.read(folder / RECIPE)
    epochs = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    best = epochs[-1] if recipe.refit is not None else max(epochs, key=lambda epoch: epoch["dev_f1"] or 0.0)
    result = {
        **header("accuracy"),
        "recipe": recipe.plain(),
        "seed": recipe.training.seed,
        "runs_side_by_side": side_by_side,
        "training_seconds": round(epochs[-1]["seconds"], 1),
        "training_sentences_per_second": median(epoch["sentences_per_second"] for epoch in epochs),
        "epochs": len(epochs),
        "best_epoch": best["epoch"],
        "dev_f1": best["dev_f1"],
        "dev_discontinuous_f1": best.get("dev_discontinuous_f1"),
        "thresholds": best["thresholds"],
        "peak_gpu_bytes": torch.cuda.max_memory_allocated() or None,  # nothing yet where another process trained it
    }
    return result if documents is None else {**result, **_on_test(anyner.load(folder), tuple(documents))}


def _on_test(recognizer: Recognizer, documents: tuple[Document, ...]) -> dict[str, Any]:
    """Scores, and how fast the documents were read: once and with all that the first call sets up; speed.py measures better."""
    gold = with_neighbours(recognizer, documents)
    began = time.perf_counter()
    predicted = list(recognizer.stream(gold))
    seconds = time.perf_counter() - began
    return {
        "prediction_sentences_per_second": round(len(gold) / seconds, 1),
        "test": evaluate_documents(gold, predicted).to_json(),
    }


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
    return [f"training.epochs={epochs}", *(f"{key}=0" for key in NOT_FOR_SPEED)]


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
    return Entrant(anyner.load(model, runtime="torch"), anyner.read(str(test)).documents, cell.corpus)


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
