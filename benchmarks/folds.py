"""Puts what `anyner choose` found for variants of a recipe into one file: what was changed, and F1 on unseen documents.

python benchmarks/folds.py FOLDER … -o benchmarks/results/folds-NAME.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import yaml
from plainly import plainly
from tried import differences, flat

from anyner.benchmark.record import header, write
from anyner.errors import AnynerError
from anyner.storage.files import RECIPE
from anyner.training.chosen import CHOSEN

KEPT = ("architecture", "epoch", "thresholds", "epochs_of_folds", "score", "discontinuous")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", help="where `anyner choose` has written; the same data and encoder in all of them")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    recipes, found = zip(*(read(Path(folder)) for folder in arguments.folders), strict=True)
    everywhere, changes = differences([flat(recipe) for recipe in recipes])
    rows = [{"set": changed, **one} for changed, one in zip(changes, found, strict=True)]
    told = {name: value for name, value in header("folds").items() if name != "machine"}  # trained where, the folders do not tell
    write({**told, "everywhere": everywhere, "variants": rows}, arguments.output)
    for row in rows:
        print(f"{100 * row['score']['f1']:.2f}  {100 * row['discontinuous']['f1']:.2f}  {' '.join(row['set'])}")


def read(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The recipe, as it stands there, and what was found for it; a setting that was only tried is no longer known."""
    if not (folder / CHOSEN).is_file():
        raise AnynerError(f"{folder}: holds no {CHOSEN}: anyner choose has not ended there")
    try:
        found = json.loads((folder / CHOSEN).read_text(encoding="utf-8"))
        kept = {name: found[name] for name in KEPT}
        return yaml.safe_load((folder / RECIPE).read_text(encoding="utf-8")), kept
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
        raise AnynerError(f"{folder}: {CHOSEN} or {RECIPE} is not what anyner choose writes") from None


if __name__ == "__main__":
    plainly(main)
