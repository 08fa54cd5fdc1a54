"""Rows and cells of tables: what the columns of all kinds of results have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from anyner.training.config import Recipe

ARCHITECTURE: str = Recipe.model_fields["architecture"].default
"""That of recipes that name none."""

Result = Mapping[str, Any]
Columns = Mapping[str, Callable[[Any], str]]


@dataclass(frozen=True)
class Kind:
    rows: Callable[[Result], Iterable[Any]]
    """The rows of one results file; none if it is about something else."""
    columns: Columns


def every(what: str) -> Callable[[Result], Iterable[Result]]:
    """A file is a row."""
    return lambda result: [result] if result["what"] == what else []


def each(what: str, key: str) -> Callable[[Result], Iterable[Any]]:
    """A file has a list of rows."""
    return lambda result: result.get(key, []) if result["what"] == what else []


def percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2f}"
