"""Trains a recipe and scores it on test; one JSON file a run. `anyner benchmark` does the same, and speed and memory with it.

python benchmarks/accuracy.py recipes/biaffine/genia.yaml --set data.folder=DATA --set encoder.source=ENCODER
"""

from __future__ import annotations

import argparse
import tempfile
from importlib import import_module
from pathlib import Path

from plainly import plainly

from anyner.benchmark.accuracy import name_of, scored, test_documents, trained
from anyner.benchmark.record import write
from anyner.training.config import Recipe
from anyner.training.progress import TerminalListener


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("--set", action="append", default=[], help="key.sub=value, as `anyner train` takes it")
    parser.add_argument("--name", help="name of the results file; default: architecture-corpus-encoder-seed")
    parser.add_argument("--dev-only", action="store_true", help="leave test alone: for choosing between variants")
    parser.add_argument(
        "--keep", help="keep the trained model in this folder; one begun there is gone on with, a complete one only scored"
    )
    parser.add_argument(
        "--side-by-side", type=int, default=1, help="how many trainings share the device: its times are then longer"
    )
    parser.add_argument("-o", "--output", default="benchmarks/results")
    parser.add_argument("--plugin", action="append", default=[], help="a module to import first, which registers an architecture")
    arguments = parser.parse_args()
    for plugin in arguments.plugin:
        import_module(plugin)
    recipe = Recipe.read(arguments.recipe, arguments.set)
    test = None if arguments.dev_only else test_documents(recipe)
    with tempfile.TemporaryDirectory() as temporary, TerminalListener() as listener:
        folder = Path(arguments.keep or f"{temporary}/model")
        trained(recipe, folder, listener, keep_interrupted=True, resume=True)
        result = scored(folder, test, arguments.side_by_side)
    name = arguments.name or name_of(recipe)
    path = Path(arguments.output) / f"{name}.json"
    write(result, path)
    figures = {"dev": result["dev_f1"], "test": result["test"]["strict"]["f1"] if "test" in result else None}
    shown = "".join(f"{part} F1 {f1:.4f}, " for part, f1 in figures.items() if f1 is not None)
    print(f"{name}: {shown}{result['training_seconds']:.0f} s -> {path}")


if __name__ == "__main__":
    plainly(main)
