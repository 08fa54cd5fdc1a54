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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", help="where `anyner choose` has written; the same data and encoder in all of them")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    folders = [Path(folder) for folder in arguments.folders]
    for folder in folders:
        if not (folder / CHOSEN).is_file():
            raise AnynerError(f"{folder}: holds no {CHOSEN}: anyner choose has not ended there")
    everywhere, changes = differences([flat(yaml.safe_load((one / RECIPE).read_text(encoding="utf-8"))) for one in folders])
    found: list[dict[str, Any]] = [json.loads((folder / CHOSEN).read_text(encoding="utf-8")) for folder in folders]
    rows = [{"set": changed, **one} for changed, one in zip(changes, found, strict=True)]
    told = {name: value for name, value in header("folds").items() if name != "machine"}  # trained where, the folders do not tell
    write({**told, "everywhere": everywhere, "variants": rows}, arguments.output)
    for row in rows:
        print(f"{100 * row['score']['f1']:.2f}  {100 * row['discontinuous']['f1']:.2f}  {' '.join(row['set'])}")


if __name__ == "__main__":
    plainly(main)
