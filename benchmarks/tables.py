"""Writes the tables of README.md and benchmarks/README.md from benchmarks/results/*.json.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; NAME is what a results file says it is about (`what`),
or `chosen` for trainings that were scored on dev only.

python benchmarks/tables.py            writes them
python benchmarks/tables.py --check    fails if one of them is not what the results say
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "benchmarks/README.md", "docs/locate-label.md", "docs/diffusion-ner.md")
_MARKED = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_NOTHING = "No results yet.\n"

Result = Mapping[str, Any]
Columns = Mapping[str, Callable[[Result], str]]


def _recipe(result: Result, *keys: str) -> Any:
    found: Any = result["recipe"]
    for key in keys:
        found = found.get(key, {})
    return found or None


def _name(path: Any, otherwise: str) -> str:
    return Path(str(path)).name if path else otherwise


def _corpus(result: Result) -> str:
    data = result["recipe"]["data"]
    if data.get("folder"):
        return Path(data["folder"]).name
    return "synthetic" if data.get("synthetic") else ", ".join(Path(source["path"]).name for source in data["train"])


def _seconds(result: Result) -> str:
    """Runs that shared the machine were slowed down by each other: that is said beside the time."""
    together = result.get("runs_side_by_side", 1)
    return f"{result['training_seconds']:,.0f}" + (f" ({together} runs side by side)" if together > 1 else "")


def _kind(result: Result) -> str:
    if result["what"] == "tried":
        return f"tried_{result['everywhere']['architecture']}"
    return "chosen" if result["what"] == "accuracy" and "test" not in result else str(result["what"])


def _interval(result: Result) -> str:
    low, high = result["test"]["strict_f1_interval"]
    return f"{100 * low:.1f} to {100 * high:.1f}"


def _device(result: Result) -> str:
    return str(result["machine"]["device"])


def _million(size: float) -> str:
    return f"{size / 2**20:,.1f}"


def _length(name: str, result: Result) -> str:
    f1 = result["group"]["f1"][name]
    return f"{100 * f1['mean']:.2f}" + (f" ± {100 * f1['spread']:.2f}" if result["group"]["seeds"] > 1 else "")


def _chance(result: Result) -> str:
    p = result["group"]["f1"]["5+"].get("p")
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _epoch(epoch: int, result: Result) -> str:
    f1 = result["variant"]["dev_f1"]
    return f"{100 * f1[epoch - 1]:.1f}" if len(f1) >= epoch else ""


def _offset(far: str, result: Result) -> str:
    return f"{result['offsets'][far]:,}"


_TRAINED: Columns = {
    "corpus": _corpus,
    "architecture": lambda r: str(_recipe(r, "architecture") or "biaffine"),
    "encoder": lambda r: _name(_recipe(r, "encoder", "source"), "fresh"),
    "seed": lambda r: str(r["seed"]),
    "dev F1": lambda r: f"{100 * r['dev_f1']:.2f}",
}
_TRAINING: Columns = {
    "training, s": _seconds,
    "sentences/s": lambda r: f"{r['training_sentences_per_second']:,.0f}",
    "device": _device,
}
_TEST: Columns = {"test F1": lambda r: f"{100 * r['test']['strict']['f1']:.2f}", "95 % interval": _interval}
COLUMNS: Mapping[str, Columns] = {
    "accuracy": {**_TRAINED, **_TEST, **_TRAINING},
    "chosen": {**_TRAINED, **_TRAINING},
    "speed": {
        "architecture": lambda r: r["architecture"],
        "encoder": lambda r: r["encoder"],
        "documents": lambda r: f"{r['documents']:,}",
        "device ratio": lambda r: f"{r['device_ratio']:.2f}",
        "end to end, sentences/s": lambda r: f"{r['end_to_end_sentences_per_second']:,.0f}",
        "end-to-end ratio": lambda r: f"{r['end_to_end_ratio']:.2f}",
        "device": _device,
    },
    "memory": {
        "words": lambda r: " / ".join(f"{one['words']:,}" for one in r["documents"]),
        "coverage": lambda r: " / ".join(f"{one['coverage']:g}" for one in r["documents"]),
        "beyond text and entities, MiB": lambda r: " / ".join(_million(one["beyond_bytes"]) for one in r["documents"]),
        "growth, MiB": lambda r: _million(r["growth_beyond_bytes"]),
        "device": _device,
    },
    "lengths": {
        "models": lambda r: r["group"]["name"],
        "seeds": lambda r: str(r["group"]["seeds"]),
        **{f"{name} words" if name != "all" else "all": partial(_length, name) for name in ("all", "1-4", "5-9", "10+", "5+")},
        "p, 5+": _chance,
    },
    "variants": {
        "variant": lambda r: r["variant"]["name"],
        **{f"epoch {epoch}": partial(_epoch, epoch) for epoch in (2, 4, 6, 8, 10)},
    },
    "locate_label": {
        **{f"moved by {far}": partial(_offset, far) for far in ("0", "1", "2", "3", "4+")},
        "seeds past the filter, an entity": lambda r: f"{r['seeds_passed_per_entity']:.1f}",
        "different spans, an entity": lambda r: f"{r['spans_per_entity']:.1f}",
    },
    **{
        f"tried_{architecture}": {
            "what was set": lambda r: ", ".join(f"`{one}`" for one in r["one"]["set"]),
            "dev F1": lambda r: f"{100 * r['one']['dev_f1']:.2f}",
            "best epoch": lambda r: str(r["one"]["best_epoch"]),
        }
        for architecture in ("locate_label", "diffusion_ner")
    },
    "agreement": {
        "documents": lambda r: f"{r['documents']:,}",
        "float32, other batches": lambda r: _disagreement(r["float32_between_batches"]),
        "bfloat16, other batches": lambda r: _disagreement(r["bfloat16_between_batches"]),
        "bfloat16 against float32": lambda r: _disagreement(r["bfloat16_against_float32"]),
        "device": _device,
    },
}


def _disagreement(measured: Mapping[str, float]) -> str:
    return f"{measured['found_by_one']:,} of {measured['entities']:,} entities"


def table(what: str, results: Iterable[tuple[str, Result]]) -> str:
    """The rows of one kind of result, by file name."""
    columns = COLUMNS[what]
    own = [(name, row) for name, result in results if _kind(result) == what for row in _rows(result)]
    rows = [[*(cell(row) for cell in columns.values()), f"`{name}`"] for name, row in own]
    if not rows:
        return _NOTHING
    lines = [[*columns, "file"], ["---"] * (len(columns) + 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _rows(result: Result) -> list[Result]:
    """A result is one row, unless it compares groups of models: those have one each."""
    for key, one in (("groups", "group"), ("variants", "variant"), ("tried", "one")):
        if key in result:
            return [{**result, one: row} for row in result[key]]
    return [result]


def read_results(folder: Path) -> list[tuple[str, Result]]:
    files = sorted(folder.glob("*.json"))
    read = [(path.name, json.loads(path.read_text(encoding="utf-8"))) for path in files]
    return [(name, result) for name, result in read if isinstance(result, dict) and "what" in result]


def filled(page: str, results: Iterable[tuple[str, Result]]) -> str:
    """The page with every marked table written anew."""
    listed = list(results)
    return _MARKED.sub(lambda found: found[1] + table(found[2], listed) + found[3], page)


def main() -> int:
    results = read_results(ROOT / "benchmarks/results")
    stale = []
    for name in PAGES:
        path = ROOT / name
        page = path.read_text(encoding="utf-8")
        if (new := filled(page, results)) != page:
            stale.append(name)
            if "--check" not in sys.argv[1:]:
                path.write_text(new, encoding="utf-8")
    for name in stale:
        print(f"{name}: {'differs from the results' if '--check' in sys.argv[1:] else 'written'}")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
