"""Puts what trainings gave on dev (accuracy.py, with or without --dev-only) into one file, with what was changed.

python benchmarks/tried.py RUN.json … -o benchmarks/results/tried-NAME.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plainly import plainly

from anyner.benchmark.record import header, write

KEPT = ("dev_f1", "best_epoch", "training_seconds", "runs_side_by_side", "command")


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings of settings as one level: {"head.layers": 2, …}."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return found


def told(value: Any) -> Any:
    """A value as `--set` takes it: sources that are only a path are that path."""
    if isinstance(value, list):
        return [one["path"] if isinstance(one, Mapping) and list(one) == ["path"] else one for one in value]
    return value


def differences(settings: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], list[list[str]]]:
    """What is the same in all, and what is not, as `--set` takes it."""
    everywhere = {key: value for key, value in settings[0].items() if all(own.get(key) == value for own in settings)}
    return everywhere, [
        [f"{key}={json.dumps(told(value))}" for key, value in own.items() if key not in everywhere] for own in settings
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", help="results files of accuracy.py; the same data and encoder in all of them")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    runs = [json.loads(Path(run).read_text(encoding="utf-8")) for run in arguments.runs]
    everywhere, changes = differences([flat(run["recipe"]) for run in runs])
    tried = [
        {
            "set": changed,
            **{name: run[name] for name in KEPT},
            "dev_gaps_f1": run.get("dev_gaps_f1"),  # older results do not tell
        }
        for changed, run in zip(changes, runs, strict=True)
    ]
    result = {**header("tried"), "date": runs[0]["date"], "machine": runs[0]["machine"], "everywhere": everywhere, "tried": tried}
    write(result, arguments.output)
    for one in sorted(tried, key=lambda row: -row["dev_f1"]):
        print(f"{100 * one['dev_f1']:.2f}  {' '.join(one['set'])}")


if __name__ == "__main__":
    plainly(main)
