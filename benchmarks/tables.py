"""Writes the tables of the pages, and the texts drawn there, from benchmarks/results/*.json.

A table stands between `<!-- table: KIND -->` and `<!-- end -->`; KIND is one of benchmarks/columns.py or
benchmarks/summary.py. `column=value` behind it keeps the rows that have this there, and leaves the column out, as in
`<!-- table: speed architecture=set_gner -->`. The texts that a bundled model was tried on stand between `<!-- texts: MODEL -->`
and `<!-- end -->`.

python benchmarks/tables.py            writes them
python benchmarks/tables.py --check    fails if one of them is not what the results say
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from columns import KINDS
from rows import Result
from summary import SUMMARIES, Row

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "benchmarks/README.md", *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md")))
_MARKED = re.compile(r"(<!-- table: (\w+)((?: [^\s=]+=[^\s=]+)*) -->\n).*?(<!-- end -->)", re.DOTALL)
_TEXTS = re.compile(r"(<!-- texts: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_NOTHING = "No results yet.\n"


def table(kind: str, results: Iterable[tuple[str, Result]], only: Mapping[str, str]) -> str:
    """The rows of one kind, by file name, of which the columns named in `only` have that value."""
    rows = SUMMARIES[kind](results) if kind in SUMMARIES else _rows(kind, results)
    kept = [row for row in rows if all(row[name].strip("`") == value for name, value in only.items())]
    if not kept:
        return _NOTHING
    shown = [name for name in kept[0] if name == "file" or (name not in only and any(row[name] for row in kept))]
    lines = [shown, ["---"] * len(shown), *([row[name] for name in shown] for row in kept)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _rows(kind: str, results: Iterable[tuple[str, Result]]) -> list[Row]:
    columns = KINDS[kind].columns
    return [
        {**{name: cell(row) for name, cell in columns.items()}, "file": f"`{file}`"}
        for file, result in results
        for row in KINDS[kind].rows(result)
    ]


def texts(model: str, results: Iterable[tuple[str, Result]]) -> str:
    """Every text as the model reads it."""
    found = next(result["texts"] for _, result in results if result["what"] == "bundled" and result["name"] == model)
    return "\n".join(f"{one['name'].capitalize()}:\n\n```text\n{one['drawn']}\n```\n" for one in found)


def read_results(folder: Path) -> list[tuple[str, Result]]:
    files = sorted(folder.glob("*.json"))
    read = [(path.name, json.loads(path.read_text(encoding="utf-8"))) for path in files]
    return [(name, result) for name, result in read if isinstance(result, dict) and "what" in result]


def filled(page: str, results: Iterable[tuple[str, Result]]) -> str:
    """The page with every marked table and text written anew."""
    listed = list(results)

    def written(found: re.Match[str]) -> str:
        only = dict(part.split("=") for part in found[3].split())
        return found[1] + table(found[2], listed, only) + found[4]

    drawn = _TEXTS.sub(lambda found: found[1] + texts(found[2], listed) + found[3], page)
    return _MARKED.sub(written, drawn)


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
