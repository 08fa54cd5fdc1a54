"""One protocol for every figure: trains with nothing set but corpus, architecture, encoder, seed and quality, and scores on test.

python benchmarks/matrix.py train biaffine-genia-minilm-standard-seed0 --commit COMMIT    one training and its results file
python benchmarks/matrix.py train set_gner+paper-genia-minilm-standard-seed0 --commit C    the published method, nothing added
python benchmarks/matrix.py train biaffine+contiguous-cadec-minilm-standard-seed0 --commit C   without the layer for fragments
python benchmarks/matrix.py train biaffine-conll03_100-minilm-standard-seed0 --commit C     on 100 sentences, drawn with the seed
python benchmarks/matrix.py try biaffine-genia-minilm-standard-seed0 e15 --set training.epochs=15    other settings, on dev
python benchmarks/matrix.py all --commit COMMIT                                           every training that has no results yet
python benchmarks/matrix.py all 'nag_ner-*' 'biaffine-genia-*' --commit COMMIT              those that match, in this order
python benchmarks/matrix.py list                                                          their names

Corpora are in data/CORPUS, encoders in the folders of their names. Settings that depend on the corpus follow the rules of the
commit, which every results file names: they were frozen there before test was read. The rules were chosen with `try`, which
never reads test; it scores the sentences of dev as they are in the file, as `train` scores those of test.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import torch
from jobs import Job, add_limits, limits_of, run_jobs
from reproduce import training_of
from results import DISCONTINUOUS, JOINING
from script import RESULTS, header, parser_of, run, write
from speed import with_neighbours

import anyner
from anyner.architectures.registry import names as architectures
from anyner.corpora.reading import read_splits
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.evaluation.evaluate import evaluate_documents
from anyner.storage.files import RECIPE
from anyner.training.config import Recipe, changed
from anyner.training.data.splits import read_data
from anyner.training.progress import TerminalListener
from anyner.training.quality import FOLDS
from anyner.training.quality import train as train_with

CORPORA = {
    **dict.fromkeys(("genia", "genia_disc", "cadec", "conll03", "litbank", "wnut17", "bc5cdr"), "minilm"),
    "weibo4": "uie-nano-zh",
}
"""Corpora, each with its small encoder."""
BEST_ON_DEV = {"genia": "biaffine", "cadec": "set_gner", "conll03": "biaffine"}
"""The architecture that is best on dev with `minilm`: also trained with `mpnet`, and with quality `best`. On these corpora the
published methods are trained as well."""
FEW = [*((corpus, number) for corpus in ("conll03", "cadec", "bc5cdr") for number in (20, 50, 100, 200, 500)), ("wikigold", 100)]
"""Corpora, and how many training sentences are drawn from them."""
SEEDS = (0, 1, 2)
Part = Literal["dev", "test"]
PRESETS: dict[str, dict[str, Any]] = {"default": {}, "paper": {"preset": "paper"}, "contiguous": {"fragments": False}}
"""Settings of the head in each preset."""
GIGABYTES = {"mpnet": 10.0}
"""GPU memory of a training, 7 with other encoders."""


@dataclass(frozen=True, slots=True)
class Cell:
    architecture: str
    preset: str
    corpus: str
    sentences: int | None
    """Number of training sentences, drawn with the seed; None: all."""
    encoder: str
    quality: str
    seed: int

    @classmethod
    def named(cls, name: str) -> Cell:
        found = re.fullmatch(r"(\w+?)(?:\+(paper|contiguous))?-(\w+?)(?:_(\d+))?-([\w-]+)-(fast|standard|best)-seed(\d+)", name)
        if found is None or found[1] not in architectures():
            raise AnynerError(f"there is no training {name}: write ARCHITECTURE-CORPUS-ENCODER-QUALITY-seedN")
        return cls(
            found[1], found[2] or "default", found[3], int(found[4]) if found[4] else None, found[5], found[6], int(found[7])
        )

    @property
    def name(self) -> str:
        method = self.architecture if self.preset == "default" else f"{self.architecture}+{self.preset}"
        part = self.corpus if self.sentences is None else f"{self.corpus}_{self.sentences}"
        return f"{method}-{part}-{self.encoder}-{self.quality}-seed{self.seed}"

    @property
    def data(self) -> Path:
        return Path("data", self.corpus if self.sentences is None else f"{self.corpus}_{self.sentences}_{self.seed}")

    @property
    def recipe(self) -> Recipe:
        """Everything that is set for a training."""
        given = {
            "data": {"folder": str(self.data)},
            "encoder": {"source": self.encoder},
            "architecture": self.architecture,
            "training": {"seed": self.seed},
        }
        head = PRESETS[self.preset]
        return Recipe.of({**given, "head": head} if head else given, self.name)


def cells() -> list[Cell]:
    """The matrix, then without fragments, on few sentences, the published methods, the larger encoder, and quality `best`."""
    small, best = list(CORPORA.items()), list(BEST_ON_DEV.items())
    papers = [name for name in architectures() if name != "biaffine"]
    listed = [
        *((name, "default", corpus, None, encoder) for corpus, encoder in small for name in architectures()),
        *((name, "contiguous", corpus, None, "minilm") for corpus in DISCONTINUOUS for name in JOINING),
        *((name, "default", corpus, few, "minilm") for corpus, few in FEW for name in architectures()),
        *((name, "paper", corpus, None, "minilm") for corpus in BEST_ON_DEV for name in papers),
        *((name, "default", corpus, None, "mpnet") for corpus, name in best),
    ]
    trained = [(*one, "standard") for one in listed]
    trained += [(name, "default", corpus, None, "minilm", "best") for corpus, name in best]
    return [Cell(*one, seed) for one in trained for seed in SEEDS]


def results_file(cell: Cell, folder: str) -> Path:
    return Path(folder) / f"matrix-{cell.name}.json"


def train(arguments: Namespace) -> None:
    """Train one model and score it on test."""
    cell = Cell.named(arguments.name)
    if cell.sentences is not None:
        draw(cell)
    part_of(cell.recipe, "test")  # refuses a corpus without test documents before the training
    if cell.quality == "best" and torch.cuda.is_available():
        torch.cuda.init()
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(["0"] * FOLDS)  # folds train side by side, here on one large GPU
    with tempfile.TemporaryDirectory() as temporary, TerminalListener() as listener:
        folder = Path(arguments.keep or f"{temporary}/model")
        train_with(cell.recipe, folder, quality=cell.quality, listener=listener)
        result = {**header("matrix"), "commit": arguments.commit, "cell": _about(cell), **_scored(folder, "test")}
    write(result, path := results_file(cell, arguments.output))
    print(f"{cell.name}: dev F1 {result['dev_f1']}, test F1 {result['test']['strict']['f1']:.4f} -> {path}")


def attempt(arguments: Namespace) -> None:
    """Train with some keys set and score on dev, to choose the rules."""
    cell = Cell.named(arguments.name)
    if cell.sentences is not None:
        draw(cell)
    recipe = Recipe.of(changed(cell.recipe.plain(), arguments.set), cell.name)
    with tempfile.TemporaryDirectory() as temporary, TerminalListener() as listener:
        folder = Path(temporary) / "model"
        train_with(recipe, folder, quality=cell.quality, listener=listener)
        result = {**header("attempt"), "cell": _about(cell), "set": arguments.set, **_scored(folder, "dev")}
    write(result, path := Path(arguments.output) / f"tried-{cell.name}-{arguments.what}.json")
    print(f"{cell.name} {arguments.what}: dev F1 {result['dev']['strict']['f1']:.4f} -> {path}")


def draw(cell: Cell) -> None:
    """Writes the corpus with a sample of its training sentences unless it exists: parallel trainings share it."""
    if cell.data.exists():
        return
    corpora = read_splits(f"data/{cell.corpus}")
    train = corpora.train.documents if corpora.train is not None else ()
    if len(train) < (cell.sentences or 0):
        raise AnynerError(f"data/{cell.corpus}: has {len(train):,} training documents, fewer than {cell.sentences}")
    with tempfile.TemporaryDirectory(dir="data", prefix=".new.") as temporary:
        drawn = random.Random(cell.seed).sample(train, cell.sentences or 0)
        whole = Path(temporary) / "corpus"
        whole.mkdir()
        for name, documents in (("train", drawn), ("dev", corpora.dev or ()), ("test", corpora.test or ())):
            anyner.write(documents, str(whole / f"{name}.jsonl"), "jsonl")
        with suppress(OSError):  # another training was first
            whole.rename(cell.data)


def _about(cell: Cell) -> dict[str, Any]:
    return {name: getattr(cell, name) for name in ("architecture", "preset", "corpus", "sentences", "encoder", "quality", "seed")}


def part_of(recipe: Recipe, part: Part) -> tuple[Document, ...]:
    documents: Sequence[Document] = getattr(read_data(recipe.data, recipe.text), part)
    if not documents:
        raise AnynerError(f"{recipe.data.folder}: has no {part} documents")
    return tuple(documents)


def _scored(folder: Path, part: Part) -> dict[str, Any]:
    """The completed recipe, how the training went, and the scores on a part: of the model, and of its span classifier alone."""
    recipe, recognizer = Recipe.read(folder / RECIPE), anyner.load(folder)
    gold = with_neighbours(recognizer, part_of(recipe, part))
    scored = {part: evaluate_documents(gold, list(recognizer.stream(gold))).to_json()}
    if recognizer.model.head.span_classifier is not None:
        alone = recognizer.stream(gold, options={"span_classifier_alone": True})
        scored["span_classifier_alone"] = evaluate_documents(gold, list(alone)).to_json()
    return {
        # paths to what the stages of `best` left become relative to a folder called model
        "recipe": json.loads(json.dumps(recipe.plain()).replace(str(folder), "model")),
        **training_of(folder, recipe),
        **scored,
    }


def everything(arguments: Namespace) -> None:
    """Run all trainings without results, or those named, many at once on one GPU."""
    missing = [cell for cell in matching(arguments.names) if not results_file(cell, arguments.output).is_file()]
    script = (sys.executable, "benchmarks/matrix.py", "train")
    options = ("--commit", arguments.commit, "-o", arguments.output)
    keep = {one.name: ("--keep", f"{arguments.keep}/{one.name}") if arguments.keep else () for one in missing}
    jobs = [Job(one.name, (*script, one.name, *options, *keep[one.name]), gigabytes=_gigabytes(one)) for one in missing]
    if left := run_jobs(jobs, Path(arguments.runs), **limits_of(arguments)):
        raise AnynerError(f"not done, see the logs in {arguments.runs}: {', '.join(left)}")


def matching(patterns: Sequence[str]) -> list[Cell]:
    """All cells, or those whose names match the patterns, in the order of these."""
    every, found = cells(), dict[Cell, None]()
    for pattern in patterns or ("*",):
        own = [cell for cell in every if fnmatchcase(cell.name, pattern)]
        if not own:
            raise AnynerError(f"no training matches {pattern!r}: see `matrix.py list`")
        found |= dict.fromkeys(own)
    return list(found)


def _gigabytes(cell: Cell) -> float:
    return GIGABYTES.get(cell.encoder, 7.0) * (FOLDS if cell.quality == "best" else 1)


def show(arguments: Namespace) -> None:
    """List the names of all trainings."""
    for cell in cells():
        print(cell.name)


def main() -> None:
    parser = parser_of(__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    own: dict[str, ArgumentParser] = {}
    for name, work in (("train", train), ("try", attempt), ("all", everything), ("list", show)):
        own[name] = commands.add_parser(name, help=work.__doc__, description=work.__doc__)
        own[name].set_defaults(work=work)
    for name in ("train", "try"):
        own[name].add_argument("name", help="ARCHITECTURE-CORPUS-ENCODER-QUALITY-seedN")
    for name in ("train", "all"):
        own[name].add_argument("--commit", required=True, help="commit of the code that is run, for the record")
        own[name].add_argument("-o", "--output", default=str(RESULTS), help="folder of the results files")
    own["train"].add_argument("--keep", help="keep the model in this folder")
    own["all"].add_argument(
        "names", nargs="*", metavar="NAME", help="only these, in this order; may be patterns: nag_ner-genia-*"
    )
    own["all"].add_argument("--keep", help="keep the models in this folder, each under its name")
    own["try"].add_argument("what", help="a word for what is tried, used in the name of the results file")
    own["try"].add_argument("--set", action="append", default=[], help="KEY=VALUE: set a key of the recipe")
    own["try"].add_argument("-o", "--output", default="runs/tried", help="folder of the results files")
    add_limits(own["all"], "runs/matrix")
    arguments = parser.parse_args()
    arguments.work(arguments)


if __name__ == "__main__":
    run(main)
