from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anyner.document import Document
from anyner.training.config import Recipe, changed
from anyner.training.progress import Listener

TINY: dict[str, Any] = {
    "data": {"synthetic": {"contiguous": True, "sentences": 60}},
    "encoder": {"scratch_width": 32, "pooling": "first", "lstm_layers": 0},
    "head": {"width": 16},
    "training": {
        "epochs": 2,
        "batch_sentences": 4,
        "encoder_lr": 0.003,
        "head_lr": 0.003,
        "word_dropout": 0,
        "average_epochs": 0,
    },
}


@pytest.fixture(scope="session")
def tiny() -> Callable[..., Recipe]:
    """A recipe that trains in about a second, with changes as `--set` takes them."""
    return lambda *changes: Recipe.of(changed(TINY, changes), "recipe")


@pytest.fixture(scope="session")
def noting() -> Callable[[], tuple[Listener, list[str]]]:
    """A new listener, and the list that collects its notes."""

    class Noting(Listener):
        def __init__(self) -> None:
            self.lines: list[str] = []

        def note(self, line: str) -> None:
            self.lines.append(line)

    def new() -> tuple[Listener, list[str]]:
        listener = Noting()
        return listener, listener.lines

    return new


@pytest.fixture(scope="session")
def written() -> Callable[[Path, list[Document]], str]:
    """Writes documents as JSONL; gives the path as a recipe names it."""

    def write(path: Path, documents: list[Document]) -> str:
        path.write_text("".join(json.dumps(document.to_json()) + "\n" for document in documents), encoding="utf-8")
        return str(path)

    return write
