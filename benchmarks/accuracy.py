"""Trains a recipe and scores it on test; one JSON file a run.

python benchmarks/accuracy.py recipes/biaffine/genia.yaml --set data.folder=DATA --set encoder.source=ENCODER
"""

from __future__ import annotations

import argparse
import tempfile
from importlib import import_module
from pathlib import Path

import torch
from record import header, write

import anyner
from anyner.training.config import Recipe
from anyner.training.data import read_data
from anyner.training.progress import TerminalListener


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("--set", action="append", default=[], help="key.sub=value, as `anyner train` takes it")
    parser.add_argument("--name", help="name of the results file; default: architecture-corpus-encoder-seed")
    parser.add_argument("--dev-only", action="store_true", help="leave test alone: for choosing between variants")
    parser.add_argument("--keep", help="keep the trained model in this folder")
    parser.add_argument(
        "--side-by-side", type=int, default=1, help="how many trainings share the device: its times are then longer"
    )
    parser.add_argument("-o", "--output", default="benchmarks/results")
    parser.add_argument("--plugin", action="append", default=[], help="a module to import first, which registers an architecture")
    arguments = parser.parse_args()
    for plugin in arguments.plugin:
        import_module(plugin)
    recipe = Recipe.read(arguments.recipe, arguments.set)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or f"{temporary}/model"
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        with TerminalListener() as listener:
            result = anyner.train(recipe, folder, listener=listener)
        result_json = {
            **header("accuracy"),
            "recipe": recipe.model_dump(mode="json", exclude_defaults=True),
            "seed": recipe.training.seed,
            "runs_side_by_side": arguments.side_by_side,
            "training_seconds": round(result.outcome.seconds, 1),
            "training_sentences_per_second": result.outcome.sentences_per_second,
            "best_epoch": result.outcome.best_epoch + 1,
            "dev_f1": result.outcome.best_f1,
            "peak_gpu_bytes": torch.cuda.max_memory_allocated() if torch.cuda.is_available() else None,
        }
        if not arguments.dev_only:
            test = read_data(recipe.data, recipe.text).test
            result_json["test"] = anyner.evaluate(anyner.load(folder), test).to_json()
    corpus = Path(recipe.data.folder or "synthetic").name
    encoder = Path(recipe.encoder.source).name
    name = arguments.name or f"{recipe.architecture}-{corpus}-{encoder}-seed{recipe.training.seed}"
    path = Path(arguments.output) / f"{name}.json"
    write(result_json, path)
    test_f1 = result_json["test"]["strict"]["f1"] if "test" in result_json else float("nan")
    print(f"{name}: dev F1 {result.outcome.best_f1:.4f}, test F1 {test_f1:.4f}, {result.outcome.seconds:.0f} s -> {path}")


if __name__ == "__main__":
    main()
