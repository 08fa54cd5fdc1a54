"""Trains one recipe and scores it on test, or times prediction of all architectures in one run.

python benchmarks/reproduce.py train recipes/set_gner/cadec.yaml --set data.folder=DATA    one training, scored on test
python benchmarks/reproduce.py speed --encoder minilm --minutes 20     prediction speed, every architecture on every corpus
python benchmarks/reproduce.py speed biaffine-genia-minilm             only these
python benchmarks/reproduce.py speed biaffine+contiguous-cadec-minilm  without the layer for fragments

The timed models are those of `anyner train --data data/CORPUS --architecture A --encoder E --quality fast`, with the encoder in
the folder of its name. Trainings run in parallel on one GPU; a second call skips those that are done. Accuracy is measured by
matrix.py.
"""

from __future__ import annotations

import json
import re
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
from jobs import Job, add_limits, limits_of, log, run_jobs
from results import CORPORA, DISCONTINUOUS, JOINING, name_of
from script import RESULTS, add_plugins, header, import_plugins, parser_of, run, write
from speed import Entrant, speeds, with_neighbours

import anyner
from anyner.architectures.registry import names as architectures
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.evaluation.evaluate import evaluate_documents
from anyner.inference.recognizer import Recognizer
from anyner.storage.files import CONFIG, EPOCHS, RECIPE
from anyner.training.checkpoint import has_checkpoint
from anyner.training.config import Recipe
from anyner.training.data.splits import read_data
from anyner.training.progress import Listener, TerminalListener

ENCODERS = {"minilm": 7.0, "mpnet": 23.0}
"""Encoders of the tables, with the gigabytes of GPU memory that a training needs at most."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A model to time."""

    architecture: str
    corpus: str
    encoder: str
    contiguous: bool = False
    """Without the layer for fragments."""

    @classmethod
    def named(cls, name: str) -> Cell:
        found = re.fullmatch(r"(\w+)(\+contiguous)?-(\w+)-([\w-]+)", name)
        if found is None or found[1] not in architectures():
            raise AnynerError(f"unknown model {name}: write ARCHITECTURE-CORPUS-ENCODER")
        return cls(found[1], found[3], found[4], contiguous=found[2] is not None)

    @property
    def name(self) -> str:
        return f"{self.architecture}{'+contiguous' if self.contiguous else ''}-{self.corpus}-{self.encoder}"

    def job(self, folder: Path) -> Job:
        """Prediction speed does not depend on the last points of F1, so a short training is enough."""
        data = ("--data", f"data/{self.corpus}", "--architecture", self.architecture, "--encoder", self.encoder)
        head = ("--set", "head.fragments=false") if self.contiguous else ()
        command = (sys.executable, "-m", "anyner", "train", *data, *head, "--quality", "fast", "-o", str(folder / self.name))
        return Job(self.name, command, gigabytes=ENCODERS.get(self.encoder, max(ENCODERS.values())))


def cells(arguments: Namespace) -> list[Cell]:
    """The models named, or all of the tables with these encoders."""
    if arguments.results:
        return [Cell.named(name) for name in arguments.results]
    encoders = [arguments.encoder] if arguments.encoder else list(ENCODERS)
    every = [Cell(a, c, e) for e in encoders for c in CORPORA for a in architectures()]
    every += [Cell(a, c, "minilm", contiguous=True) for c in DISCONTINUOUS for a in JOINING if "minilm" in encoders]
    return [cell for cell in every if Path(f"data/{cell.corpus}").is_dir()]


# One training.


def train(arguments: Namespace) -> None:
    """Train a recipe and write its scores to a results file."""
    import_plugins(arguments.plugin)
    recipe = Recipe.read(arguments.recipe, arguments.set)
    test = None if arguments.dev_only else read_data(recipe.data, recipe.text).test
    if test is not None and not test:
        raise AnynerError(f"{arguments.recipe}: names no test documents: add --dev-only")
    with tempfile.TemporaryDirectory() as temporary, TerminalListener() as listener:
        folder = Path(arguments.keep or f"{temporary}/model")
        train_or_resume(recipe, folder, listener)
        result = scored(folder, test)
    name = arguments.name or name_of(result)
    path = Path(arguments.output) / f"{name}.json"
    write(result, path)
    scores = {"dev": result["dev_f1"], "test": result["test"]["strict"]["f1"] if "test" in result else None}
    shown = "".join(f"{part} F1 {f1:.4f}, " for part, f1 in scores.items() if f1 is not None)
    print(f"{name}: {shown}{result['training_seconds']:.0f} s -> {path}")


def train_or_resume(recipe: Recipe, folder: Path, listener: Listener | None) -> None:
    """Resumes a training that was cut short; one that was completed with this recipe is kept as it is.

    An interrupted training can be scored by its best epoch so far; the result records its number of epochs.
    """
    # a training has a checkpoint beside the model from its first batch to its end
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
    """Whether a saved recipe, in which every key is set, has the values that a recipe sets."""
    if isinstance(saved, dict) and isinstance(wanted, dict):
        return all(key in saved and _has_keys(saved[key], value) for key, value in wanted.items())
    return bool(saved == wanted)


def scored(folder: Path, documents: Sequence[Document] | None) -> dict[str, Any]:
    """How a model folder was trained and, unless there are no `documents`, its scores on them."""
    recipe = Recipe.read(folder / RECIPE)
    result = {
        **header("accuracy"),
        "recipe": recipe.plain(),
        "seed": recipe.training.seed,
        "epochs": len(epochs_of(folder)),
        **training_of(folder, recipe),
    }
    return result if documents is None else {**result, **_on_test(anyner.load(folder), tuple(documents))}


def epochs_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / EPOCHS).read_text(encoding="utf-8").splitlines()]


def training_of(folder: Path, recipe: Recipe) -> dict[str, Any]:
    """How the training of a model folder went."""
    epochs = epochs_of(folder)
    best = epochs[-1] if recipe.refit is not None else max(epochs, key=lambda epoch: epoch["dev_f1"] or 0.0)
    return {
        "training_seconds": round(epochs[-1]["seconds"], 1),
        "training_sentences_per_second": median(epoch["sentences_per_second"] for epoch in epochs),
        "best_epoch": best["epoch"],
        "dev_f1": best["dev_f1"],
        "dev_discontinuous_f1": best.get("dev_discontinuous_f1"),
        "thresholds": best["thresholds"],
        "peak_gpu_bytes": torch.cuda.max_memory_allocated() or None,  # None if another process trained it
    }


def _on_test(recognizer: Recognizer, documents: tuple[Document, ...]) -> dict[str, Any]:
    """Scores, and a rough rate: one run, including the set-up of the first call. speed.py measures speed properly."""
    gold = with_neighbours(recognizer, documents)
    began = time.perf_counter()
    predicted = list(recognizer.stream(gold))
    seconds = time.perf_counter() - began
    return {
        "prediction_sentences_per_second": round(len(gold) / seconds, 1),
        "test": evaluate_documents(gold, predicted).to_json(),
    }


# Speed.


def speed(arguments: Namespace) -> None:
    """Train a model for each cell, then time all of them in turn, with nothing else running."""
    asked, folder = {cell.name: cell for cell in cells(arguments)}, Path(arguments.runs) / "speed"
    missing = run_jobs([cell.job(folder) for cell in asked.values()], folder / "logs", **limits_of(arguments))
    ready = [name for name in asked if name not in missing]
    entrants = [_entrant(folder / name, asked[name]) for name in ready]
    for name, measured in zip(ready, speeds(entrants, arguments.repeats), strict=True):
        epochs = epochs_of(folder / name)
        trained_for = {"epochs": len(epochs), "dev_f1": max(epoch["dev_f1"] or 0.0 for epoch in epochs)}
        known = {"preset": "contiguous"} if asked[name].contiguous else {}
        write({**measured, **known, "trained_for": trained_for}, Path(arguments.output) / f"speed-{name}.json")
        log(f"{name}: {measured['end_to_end_sentences_per_second']:,.0f} sentences a second")
    if missing:
        raise AnynerError(f"not trained, see the logs in {folder / 'logs'}: {', '.join(missing)}")


def _entrant(model: Path, cell: Cell) -> Entrant:
    """A model with the test documents of its corpus."""
    test = next(iter(sorted(Path(f"data/{cell.corpus}").glob("test.jsonl*"))), None)
    if test is None:
        raise AnynerError(f"data/{cell.corpus}: has no test documents")
    return Entrant(anyner.load(model, runtime="torch"), anyner.read(str(test)).documents, cell.corpus)


# Command line.


def _add_train(parser: ArgumentParser) -> None:
    parser.add_argument("recipe")
    parser.add_argument("--set", action="append", default=[], help="key.sub=value, as in `anyner train`")
    parser.add_argument("--name", help="name of the results file; default: architecture-corpus-encoder-seed")
    parser.add_argument("--dev-only", action="store_true", help="do not score on test: for choosing between variants")
    parser.add_argument("--keep", help="keep the model in this folder; an unfinished one is resumed, a finished one only scored")
    parser.add_argument("-o", "--output", default="benchmarks/results")
    add_plugins(parser)


def _add_speed(parser: ArgumentParser) -> None:
    parser.add_argument("results", nargs="*", metavar="NAME", help="ARCHITECTURE-CORPUS-ENCODER; default: all of the tables")
    parser.add_argument("--encoder", help="only this encoder; default: all of the tables")
    add_limits(parser, "runs/reproduce")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each timing; the fastest counts")
    parser.add_argument("-o", "--output", default=str(RESULTS), help="folder of the results files")


def main() -> None:
    parser = parser_of(__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, work, add in (("speed", speed, _add_speed), ("train", train, _add_train)):
        own = commands.add_parser(name, help=work.__doc__, description=work.__doc__)
        own.set_defaults(work=work)
        add(own)
    arguments = parser.parse_args()
    arguments.work(arguments)


if __name__ == "__main__":
    run(main)
