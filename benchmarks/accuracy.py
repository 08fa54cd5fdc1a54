"""Trains a recipe and scores it on test; one JSON file a run.

python benchmarks/accuracy.py recipes/biaffine/genia.yaml --set data.folder=DATA --set encoder.source=ENCODER
"""

from __future__ import annotations

import argparse
import json
import tempfile
from importlib import import_module
from pathlib import Path
from statistics import median

import torch
from record import header, write

import anyner
from anyner.training.config import Recipe
from anyner.training.data import read_data
from anyner.training.progress import TerminalListener


def trained(recipe: Recipe, folder: str) -> None:
    """A training that is interrupted is scored all the same, with the best epoch so far; the file says how many there were."""
    with TerminalListener() as listener:
        try:
            anyner.train(recipe, folder, listener=listener)
        except KeyboardInterrupt:
            if not (Path(folder) / "config.json").is_file():
                raise


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
        trained(recipe, folder)
        epochs = [json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        best = max(epochs, key=lambda epoch: epoch["dev_f1"])
        result_json = {
            **header("accuracy"),
            "recipe": recipe.model_dump(mode="json", exclude_defaults=True),
            "seed": recipe.training.seed,
            "runs_side_by_side": arguments.side_by_side,
            "training_seconds": round(epochs[-1]["seconds"], 1),
            "training_sentences_per_second": median(epoch["sentences_per_second"] for epoch in epochs),
            "epochs": len(epochs),
            "best_epoch": best["epoch"],
            "dev_f1": best["dev_f1"],
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
    print(f"{name}: dev F1 {best['dev_f1']:.4f}, test F1 {test_f1:.4f}, {epochs[-1]['seconds']:.0f} s -> {path}")


if __name__ == "__main__":
    main()
