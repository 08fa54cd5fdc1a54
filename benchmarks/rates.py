"""How fast the models behind the tables predict: trains each again, but briefly, and times them in turn on their test documents.

python benchmarks/rates.py --encoder minilm                           all architectures on all corpora
python benchmarks/rates.py set_gner-cadec-minilm-seed0 --minutes 5    some of them, by names of results files

What a sentence costs depends on settings and on how many entities are found, not on the last points of F1: half the
epochs is enough, without what only makes training better (opinions, adapted encoders, moved embeddings, averages).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from plainly import plainly
from side_by_side import SMALL, SPARE, Job, run
from summary import CORPORA

import anyner
from anyner.benchmark.record import corpus_name, write
from anyner.benchmark.speed import Entrant, speeds
from anyner.errors import AnynerError
from anyner.storage.files import RECIPE
from anyner.training.config import Recipe, changed

RESULTS = Path(__file__).resolve().parent / "results"
FIRST_SEED = "-seed0"
EPOCHS_AT_LEAST = 3
ONLY_FOR_BETTER_TRAINING = ("chosen", "data.opinions", "data.held_out", "training.adversarial", "training.average_epochs")


def brief(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe of a results file, for a short training that gives a model of the same speed."""
    epochs = max(EPOCHS_AT_LEAST, math.ceil(Recipe.of(dict(recipe), "the results file").training.epochs / 2))
    taken_away = [f"{key}=null" for key in ONLY_FOR_BETTER_TRAINING]
    encoder = Path(recipe["encoder"]["source"]).name
    return changed(recipe, [*taken_away, f"training.epochs={epochs}", f"encoder.source={encoder}"])


def briefly_trained(
    results: Mapping[str, Mapping[str, Any]], folder: Path, *, lanes: int, gigabytes: float, minutes: float
) -> None:
    """Models in folders of these names; one that time ran out for keeps its best epoch."""
    jobs = []
    for name, result in results.items():
        recipe = folder / f"{name}.yaml"
        recipe.parent.mkdir(parents=True, exist_ok=True)
        short = brief(result["recipe"])
        recipe.write_text(yaml.safe_dump(short), encoding="utf-8")
        if (before := folder / name / RECIPE).is_file() and Recipe.read(before) != Recipe.of(short, name):
            raise AnynerError(
                f"{folder / name} was trained with other settings than those behind {name} now: choose another --models"
            )
        script = str(Path(__file__).with_name("accuracy.py"))
        own = ("--dev-only", "--keep", str(folder / name), "--name", name, "--side-by-side", str(lanes), "-o", str(folder))
        memory = SPARE * result["peak_gpu_bytes"] / 1e9 if result.get("peak_gpu_bytes") else SMALL
        jobs.append(Job(name, (sys.executable, script, str(recipe), *own), gigabytes=memory))
    run(jobs, folder / "logs", lanes=lanes, gigabytes=gigabytes, seconds=60 * minutes)


def entrant(model: Path, data: str) -> Entrant:
    """The model, to be timed on the test documents of its data folder."""
    test = next(iter(sorted(Path(data).glob("test.jsonl*"))), None)
    if test is None:
        raise AnynerError(f"{data}: has no test documents")
    return Entrant(anyner.load(model), anyner.read(str(test)).documents, corpus_name(str(test)))


def chosen(names: Sequence[str], encoder: str) -> dict[str, Mapping[str, Any]]:
    """Results by name: those asked for, or else the first seed of every architecture on every corpus."""
    files = [RESULTS / f"{name}.json" for name in names] or [
        file for corpus in CORPORA for file in sorted(RESULTS.glob(f"*-{corpus}-{encoder}{FIRST_SEED}.json"))
    ]
    if not files:
        raise AnynerError(f"there is no results file of an encoder {encoder}")
    if missing := [file.stem for file in files if not file.is_file()]:
        raise AnynerError(f"there is no results file {missing[0]}")
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="*", help="names of results files")
    parser.add_argument("--encoder", default="*", help="only those with this one")
    parser.add_argument("--minutes", type=float, default=1e6, help="for all trainings together")
    parser.add_argument("--lanes", type=int, default=16, help="trainings at once; models are timed with nothing beside them")
    parser.add_argument("--gigabytes", type=float, default=130, help="memory for all of them")
    parser.add_argument("--repeats", type=int, default=5, help="the fastest counts")
    parser.add_argument("--models", default="runs/rates", help="where models go; what is there is not trained again")
    parser.add_argument("-o", "--output", default=str(RESULTS))
    arguments = parser.parse_args()
    results, folder = chosen(arguments.results, arguments.encoder), Path(arguments.models)
    briefly_trained(results, folder, lanes=arguments.lanes, gigabytes=arguments.gigabytes, minutes=arguments.minutes)
    trainings = {name: folder / f"{name}.json" for name in results}
    ready = [name for name, training in trainings.items() if training.is_file()]
    entrants = [entrant(folder / name, results[name]["recipe"]["data"]["folder"]) for name in ready]
    for name, measured in zip(ready, speeds(entrants, arguments.repeats), strict=True):
        training = json.loads(trainings[name].read_text(encoding="utf-8"))
        told = {**measured, "trained_for": {key: training[key] for key in ("epochs", "dev_f1")}}
        write(told, Path(arguments.output) / f"speed-{name.removesuffix(FIRST_SEED)}.json")
        print(f"{name}: {measured['end_to_end_sentences_per_second']:,.0f} sentences a second")
    if late := sorted(set(results) - set(ready)):
        raise AnynerError(f"not trained, see the logs in {folder / 'logs'}: {', '.join(late)}")


if __name__ == "__main__":
    plainly(main)
