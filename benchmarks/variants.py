"""Trains a recipe in several variants and keeps dev F1 after every epoch: which settings matter, and how fast each learns.

A variant is NAME or 'NAME: key=value key=value …', as `anyner train --set` takes them.

python benchmarks/variants.py RECIPE 'as it is' 'two layers: head.layers=2' -o benchmarks/results/variants-NAME.json
"""

from __future__ import annotations

import argparse
import json
import tempfile
from typing import Any

from plainly import plainly

import anyner
from anyner.benchmark.record import header, write
from anyner.training.config import Recipe


def trained(recipe: Recipe) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as temporary:
        result = anyner.train(recipe, f"{temporary}/model")
        lines = (result.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    epochs = [json.loads(line) for line in lines]
    return {
        "dev_f1": [epoch["dev_f1"] for epoch in epochs],
        "seconds": [epoch["seconds"] for epoch in epochs],
        "training_sentences_per_second": result.outcome.sentences_per_second,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--set", action="append", default=[], help="key.sub=value, for all variants")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for variant in arguments.variants:
        name, _, changes = variant.partition(":")
        recipe = Recipe.read(arguments.recipe, [*arguments.set, *changes.split()])
        rows.append({"name": name, "set": changes.split(), **trained(recipe)})
        print(f"{name}: {' '.join(f'{100 * f1:.1f}' for f1 in rows[-1]['dev_f1'])}", flush=True)
        measured = {
            **header("variants"),
            "recipe": Recipe.read(arguments.recipe, arguments.set).model_dump(mode="json", exclude_defaults=True),
            "variants": rows,
        }
        write(measured, arguments.output)


if __name__ == "__main__":
    plainly(main)
