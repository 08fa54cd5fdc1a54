"""A small model with a graph."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from anyner.training.progress import Listener


class Notes(Listener):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)


@pytest.fixture(scope="session")
def exported(tiny_model: Path, export_after_training: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder as training leaves it."""
    folder, notes = Path(shutil.copytree(tiny_model, tmp_path_factory.mktemp("exported") / "model")), Notes()
    export_after_training(folder, notes)
    assert len(notes.lines) == 1 and notes.lines[0].startswith("exported for prediction without torch: the same"), notes.lines
    return folder
