"""Columns of the tables about whole documents."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from rows import Kind, Result, each


def _row(read: str, joined_by: str | None, model: Result) -> Result | None:
    return next((row for row in model["rows"] if (row["read"], row["joined_by"]) == (read, joined_by)), None)


def _f1(read: str, joined_by: str | None, model: Result) -> str:
    row = _row(read, joined_by, model)
    return "" if row is None else f"{100 * row['f1']:.1f}"


def _across(joined_by: str, model: Result) -> str:
    row = _row("whole documents", joined_by, model)
    return "" if row is None else f"{row['crossing']:,}"


def _windows(result: Result) -> Iterable[Result]:
    """What one window size gives on one way to cut the corpus into texts."""
    if result["what"] != "windows":
        return []
    ways = {"documents": "each document", "one_text": "all as one text"}
    of = {"model": result["model"], "corpus": result["corpus"]}
    return [{**of, "read": read, **row} for way, read in ways.items() for row in result[way]]


DOCUMENTS = {
    "windows": Kind(
        _windows,
        {
            "model": lambda row: f"`{row['model']}`",
            "corpus": lambda row: row["corpus"],
            "read": lambda row: row["read"],
            "window, pieces": lambda row: f"{row['window']}",
            "F1": lambda row: f"{100 * row['f1']:.1f}",
            "entities": lambda row: f"{row['entities']:,}",
            "only here": lambda row: f"{row['only_here']:,}",
            "only with 512": lambda row: f"{row['only_with_the_largest']:,}",
        },
    ),
    "documents": Kind(
        each("documents", "models"),
        {
            "corpus": lambda model: model["corpus"],
            "part": lambda model: model["part"],
            "architecture": lambda model: model["architecture"],
            "trained on": lambda model: model.get("trained_on", ""),
            "sentence by sentence": partial(_f1, "sentence by sentence", None),
            "three, blank": partial(_f1, "three sentences", "blank"),
            "ten, blank": partial(_f1, "ten sentences", "blank"),
            "whole, blank": partial(_f1, "whole documents", "blank"),
            "whole, line break": partial(_f1, "whole documents", "line break"),
            "whole, empty line": partial(_f1, "whole documents", "empty line"),
            "across ends, blank": partial(_across, "blank"),
            "across ends, line break": partial(_across, "line break"),
        },
    ),
}
