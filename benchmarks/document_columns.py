"""Columns of the tables about whole documents."""

from __future__ import annotations

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


DOCUMENTS = {
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
