"""Reproduces the tables of accuracy and speed: runs the trainings behind them again, times prediction, and writes the tables.

python benchmarks/reproduce.py all                                     both tables, every architecture on every corpus
python benchmarks/reproduce.py accuracy biaffine-genia-minilm-seed0    only these trainings, by names of results files
python benchmarks/reproduce.py accuracy --commands variants.txt        trainings of your own, a line `NAME: COMMAND` each
python benchmarks/reproduce.py speed --encoder minilm --minutes 20     only prediction speed, with this encoder
python benchmarks/reproduce.py train recipes/biaffine/genia.yaml --set data.folder=DATA    one training, scored on test

Corpora are in data/, encoders in minilm/ and mpnet/. Trainings run in parallel on one GPU. Pre-trained encoders and soft labels
that a training starts from are made first. What is done is not run again by a second call; when --minutes are over, trainings
stop and are scored with their best epoch so far.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from jobs import Job, log, run_jobs
from results import CORPORA, Result
from script import RESULTS, add_plugins, import_plugins, parser_of, run
from tables import update_pages

import anyner
from anyner.benchmark.accuracy import name_of, scored, test_documents, trained
from anyner.benchmark.record import corpus_name, write
from anyner.benchmark.speed import Entrant, speeds
from anyner.errors import AnynerError
from anyner.storage.files import RECIPE
from anyner.training.config import Recipe, changed
from anyner.training.progress import TerminalListener

FOLDS = 4
LARGE, SMALL = 17.0, 7.0
"""Gigabytes for a training with a large and with a small encoder, where no results file tells."""
SPARE = 1.3
"""A process holds this many times the peak memory of its tensors."""
FIRST_SEED = "-seed0"
EPOCHS_AT_LEAST = 3
ONLY_FOR_BETTER_TRAINING = ("chosen", "data.opinions", "data.held_out", "training.adversarial", "training.average_epochs")
"""Recipe keys that make a better model and no slower one: trainings for timing leave them out."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """Something that trainings start from, and the command that makes it."""

    path: str
    """As the commands of trainings name it."""
    command: str
    folds: bool = False
    """Whether its folds can be trained in parallel first."""


def _pretrained(encoder: str, *changes: str) -> Preparation:
    path = f"runs/adapted-genia/{encoder}"
    data = f"--set data.folder=data/genia_disc --set encoder.source={encoder}"
    more = "".join(f" --set {change}" for change in changes)
    return Preparation(path, f"anyner adapt recipes/biaffine/genia_disc.yaml {data}{more} -o {path}")


def _soft_labels(name: str, recipe: str, encoder: str, corpus: str | None) -> Preparation:
    data = f" --set data.folder=data/{corpus}" if corpus else ""
    command = f"anyner crossfit recipes/{recipe}.yaml{data} --set encoder.source={encoder} -o runs/{name}"
    return Preparation(f"runs/{name}/opinions.jsonl", command, folds=True)


PREPARATIONS = {
    one.path: one
    for one in (
        _pretrained("minilm"),
        _pretrained("mpnet", "training.encoder_lr=5e-5", "adapting.epochs=25"),
        _soft_labels("opinions", "biaffine/genia-opinions", "minilm", "genia"),
        _soft_labels("opinions-mpnet", "biaffine/genia-opinions-mpnet", "mpnet", "genia"),
        _soft_labels("opinions-adapted", "biaffine/genia-opinions", "runs/adapted-genia/minilm", "genia"),
        _soft_labels("opinions-disc", "biaffine/genia_disc-opinions", "minilm", "genia_disc"),
        _soft_labels("opinions-disc-mpnet", "biaffine/genia_disc-opinions-mpnet", "mpnet", "genia_disc"),
        _soft_labels("opinions-disc-gaps", "set_gner/genia_disc-opinions", "runs/adapted-genia/minilm", "genia_disc"),
        _soft_labels("opinions-cadec", "set_gner/cadec-opinions-mpnet", "mpnet", "cadec"),
        _soft_labels("opinions-cadec-nag", "nag_ner/cadec-opinions-mpnet", "mpnet", "cadec"),
        _soft_labels("opinions-litbank", "biaffine/litbank", "minilm", "litbank"),
        _soft_labels("opinions-general", "biaffine/general-en-opinions", "mpnet", None),
    )
}


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


# Accuracy: the trainings behind results files again.


def results_of(names: Sequence[str], encoder: str, seeds: str) -> dict[str, Result]:
    """Results by name: those named, or all trainings of an encoder on the corpora of the tables."""
    files = [RESULTS / f"{name}.json" for name in names] or [
        file for corpus in CORPORA for file in sorted(RESULTS.glob(f"*-{corpus}-{encoder}{seeds}.json"))
    ]
    if not files:
        raise AnynerError(f"there is no results file with the encoder {encoder}")
    if missing := [file.stem for file in files if not file.is_file()]:
        raise AnynerError(f"there is no results file {missing[0]}")
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


def accuracy(arguments: Namespace) -> None:
    """Runs trainings again with the commands in their results files; each writes its results file anew."""
    commands: dict[str, str] = {}
    if arguments.commands:
        lines = Path(arguments.commands).read_text(encoding="utf-8").splitlines()
        named = (line.partition(":") for line in lines if line.strip())
        commands |= {name.strip(): command.strip() for name, _, command in named}
    results: Mapping[str, Result] = {}
    if arguments.results or not commands:
        results = results_of(arguments.results, arguments.encoder, "-seed?")
    commands |= {name: result["command"] for name, result in results.items()}
    jobs = jobs_of(commands, {name: _memory(result) for name, result in results.items()})
    if arguments.list:
        for job in jobs:
            after = f"  (after {', '.join(sorted(job.needs))})" if job.needs else ""
            print(f"{job.name}: {shlex.join(job.command[1:])}{after}")
        return
    folder, seconds = Path(arguments.runs) / "accuracy", 60 * arguments.minutes
    if missing := run_jobs(jobs, folder, lanes=arguments.lanes, gigabytes=arguments.gigabytes, seconds=seconds):
        raise AnynerError(f"not done, see the logs in {folder}: {', '.join(missing)}")


def _memory(result: Result) -> float | None:
    """Gigabytes that a training took, as far as its results file tells."""
    return SPARE * result["peak_gpu_bytes"] / 1e9 if result.get("peak_gpu_bytes") else None


def jobs_of(commands: Mapping[str, str], gigabytes: Mapping[str, float | None]) -> list[Job]:
    """The jobs of named commands, each after the jobs that make what it starts from."""
    found: dict[str, Job] = {}
    for name, command in commands.items():
        _add(found, name, command, gigabytes=gigabytes.get(name))
    return list(found.values())


def _add(found: dict[str, Job], name: str, command: str, *, after: Iterable[str] = (), gigabytes: float | None = None) -> str:
    if name not in found:
        needs = frozenset([*after, *(_prepared(found, one) for one in _starts_from(command))])
        found[name] = Job(name, _with_this_python(command), needs, gigabytes or _guessed_memory(command))
    return name


def _guessed_memory(command: str) -> float:
    """By the encoder, or else the recipe; soft labels may come from another encoder."""
    return LARGE if re.search(r"encoder\.source=\S*mpnet|recipes/\S*mpnet\S*\.yaml(?!.*encoder\.source=)", command) else SMALL


def _starts_from(command: str) -> list[Preparation]:
    changes = [after for before, after in pairwise(shlex.split(command)) if before == "--set"]
    named = {path for change in changes for path in re.split(r"[=,\[\]]", change)}
    return [one for path, one in PREPARATIONS.items() if path in named]


def _prepared(found: dict[str, Job], preparation: Preparation) -> str:
    name = preparation.path.removeprefix("runs/").removesuffix("/opinions.jsonl").replace("/", "-")
    numbers = range(1, FOLDS + 1) if preparation.folds else ()
    folds = [_add(found, f"{name}-{number}", f"{preparation.command} --fold {number}") for number in numbers]
    return _add(found, name, preparation.command, after=folds)


def _with_this_python(command: str) -> tuple[str, ...]:
    """The command with this interpreter, whatever else is installed."""
    first, *rest = shlex.split(command)
    return (sys.executable, *(("-m", "anyner") if first == "anyner" else ()), *rest)


# Speed: models with the same settings, trained briefly. What a sentence costs depends on the settings and on the number of
# entities found, not on the last points of F1.


def brief(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe of a results file, cut down to half the epochs and to what speed depends on."""
    epochs = max(EPOCHS_AT_LEAST, math.ceil(Recipe.of(dict(recipe), "the results file").training.epochs / 2))
    removed = [f"{key}=null" for key in ONLY_FOR_BETTER_TRAINING]
    encoder = Path(recipe["encoder"]["source"]).name
    return changed(recipe, [*removed, f"training.epochs={epochs}", f"encoder.source={encoder}"])


def speed(arguments: Namespace) -> None:
    """Trains a model for each results file, then times all of them in turn, with nothing beside them."""
    results, folder = results_of(arguments.results, arguments.encoder, FIRST_SEED), Path(arguments.runs) / "speed"
    jobs = [_brief_training(name, result, folder, arguments.lanes) for name, result in results.items()]
    limits = {"lanes": arguments.lanes, "gigabytes": arguments.gigabytes, "seconds": 60 * arguments.minutes}
    run_jobs(jobs, folder / "logs", **limits)
    trainings = {name: folder / f"{name}.json" for name in results}
    ready = [name for name, training in trainings.items() if training.is_file()]
    entrants = [_entrant(folder / name, results[name]["recipe"]["data"]["folder"]) for name in ready]
    for name, measured in zip(ready, speeds(entrants, arguments.repeats), strict=True):
        training = json.loads(trainings[name].read_text(encoding="utf-8"))
        result = {**measured, "trained_for": {key: training[key] for key in ("epochs", "dev_f1")}}
        write(result, Path(arguments.output) / f"speed-{name.removesuffix(FIRST_SEED)}.json")
        log(f"{name}: {measured['end_to_end_sentences_per_second']:,.0f} sentences a second")
    if missing := sorted(set(results) - set(ready)):
        raise AnynerError(f"not trained, see the logs in {folder / 'logs'}: {', '.join(missing)}")


def _brief_training(name: str, result: Result, folder: Path, lanes: int) -> Job:
    recipe, short = folder / f"{name}.yaml", brief(result["recipe"])
    recipe.parent.mkdir(parents=True, exist_ok=True)
    recipe.write_text(yaml.safe_dump(short), encoding="utf-8")
    if (before := folder / name / RECIPE).is_file() and Recipe.read(before) != Recipe.of(short, name):
        raise AnynerError(f"{folder / name} was trained with other settings than {name} has now: choose another --runs")
    options = ("--dev-only", "--keep", str(folder / name), "--name", name, "--side-by-side", str(lanes), "-o", str(folder))
    command = (sys.executable, str(Path(__file__).resolve()), "train", str(recipe), *options)
    return Job(name, command, gigabytes=_memory(result) or SMALL)


def _entrant(model: Path, data: str) -> Entrant:
    """A model with the test documents of its data folder."""
    test = next(iter(sorted(Path(data).glob("test.jsonl*"))), None)
    if test is None:
        raise AnynerError(f"{data}: has no test documents")
    return Entrant(anyner.load(model), anyner.read(str(test)).documents, corpus_name(str(test)))


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
    parser.add_argument("--encoder", default="*", help="only results with this encoder")
    parser.add_argument("--minutes", type=float, default=1e6, help="for all trainings together")
    parser.add_argument("--lanes", type=int, default=16, help="most trainings at once")
    parser.add_argument("--gigabytes", type=float, default=130, help="GPU memory for all of them")
    parser.add_argument("--runs", default="runs/reproduce", help="folder of logs and models; what is done there is kept")


def main() -> None:
    parser = parser_of(__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, work in (("all", everything), ("accuracy", accuracy), ("speed", speed), ("train", train)):
        own = commands.add_parser(name, help=work.__doc__, description=work.__doc__)
        own.set_defaults(work=work, commands=None)
        if work is train:
            _add_train(own)
            continue
        _add_limits(own)
        if work is not speed:
            own.add_argument("--list", action="store_true", help="only print the commands of the trainings")
        if work is accuracy:
            own.add_argument("--commands", help="file with trainings of your own, a line NAME: COMMAND each")
        else:
            own.add_argument("--repeats", type=int, default=5, help="runs of each timing; the fastest counts")
            own.add_argument("-o", "--output", default=str(RESULTS), help="folder of the speed results")
    arguments = parser.parse_args()
    arguments.work(arguments)


if __name__ == "__main__":
    run(main)
