"""A training that dies at any of its file operations goes on or starts again, and ends with the same weights bit for bit."""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import anyner
from anyner.architectures.registry import names
from anyner.storage import save
from anyner.training import checkpoint
from anyner.training.config import Recipe
from anyner.training.run import run

EVERY = 46
"""Of the operations, CI lets the training die at every so many."""


class Killed(BaseException):
    """The process is gone: nothing that it does afterwards has any effect."""


class Deadly:
    """Counts the operations on files of a training, and lets it die at one of them: before it happens, or half-way."""

    def __init__(self, patch: pytest.MonkeyPatch, at: int | None, half: bool = False) -> None:
        self.count, self._at, self._half = 0, at, half
        for name in ("rename", "replace", "unlink", "mkdir", "rmdir", "chmod", "open"):  # what Path, shutil and tempfile call
            self._wrap(patch, os, name)
        for name in ("write_text", "write_bytes"):
            self._wrap(patch, Path, name, _half_written)
        self._wrap(patch, Path, "open")
        for module in (checkpoint, save):
            self._wrap(patch, module, "save_file", lambda _, path, **__: _half_written(path))

    def _wrap(
        self, patch: pytest.MonkeyPatch, owner: Any, name: str, halfway: Callable[..., object] = lambda *_, **__: None
    ) -> None:
        work = getattr(owner, name)

        def deadly(*arguments: Any, **named: Any) -> Any:
            if name == "open" and _reads(*arguments, **named):
                return work(*arguments, **named)
            if self._at is not None and self.count > self._at:
                raise Killed
            self.count += 1
            if self._at is not None and self.count > self._at:
                if self._half:
                    halfway(*arguments, **named)
                raise Killed
            return work(*arguments, **named)

        patch.setattr(owner, name, deadly)


def _reads(_: object, mode: str | int = "r", *__: Any, **___: Any) -> bool:
    return not mode & os.O_CREAT if isinstance(mode, int) else not set(mode) & set("wax+")


def _half_written(path: Path, *_: Any, **__: Any) -> None:
    with open(path, "wb") as file:  # noqa: PTH123 - Path's own way is deadly here
        file.write(b"half")


@pytest.fixture(autouse=True)
def every_step(checkpoint_every: Callable[[int], None]) -> None:
    checkpoint_every(1)


def recipe_of(architecture: str) -> Recipe:
    return Recipe.of(
        {
            "data": {"synthetic": {"contiguous": True, "sentences": 6}},
            "encoder": {"scratch_width": 16, "pooling": "first", "lstm_layers": 0},
            "architecture": architecture,
            "training": {
                "word_dropout": 0,
                "epochs": 2,
                "batch_sentences": 3,
                "head_lr": 0.003,
                "average_epochs": 0.5,
            },
        },
        "recipe",
    )


def weights_in(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def operations_of(recipe: Recipe, folder: Path) -> int:
    with pytest.MonkeyPatch.context() as patched:
        deadly = Deadly(patched, at=None)
        run(recipe, folder)
    return deadly.count


def die(recipe: Recipe, folder: Path, at: int, half: bool, resume: bool = False) -> None:
    with pytest.MonkeyPatch.context() as patched:
        Deadly(patched, at, half)
        with pytest.raises(Killed):
            run(recipe, folder, resume)
        gc.collect()  # folders that are removed when nobody holds them any more would be removed after the death


def go_on(recipe: Recipe, folder: Path) -> None:
    """As a user would: resumes what can be resumed, takes what is finished, or starts again."""
    if checkpoint.has_checkpoint(folder):
        run(recipe, folder, resume=True)
    elif not (folder / "config.json").exists():
        run(recipe, folder)


def assert_as_if_nothing_had_been(folder: Path, whole: Path) -> None:
    assert weights_in(folder) == weights_in(whole)
    assert len((folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    anyner.load(folder)


def killed_everywhere(recipe: Recipe, tmp_path: Path, every: int) -> None:
    whole = tmp_path / "whole"
    count = operations_of(recipe, whole)
    assert count > 60, "the training writes, renames and removes"
    for at in range(0, count, every):
        for half in (False, True):
            folder = tmp_path / f"{at}-{half}"
            die(recipe, folder, at, half)
            go_on(recipe, folder)
            assert_as_if_nothing_had_been(folder, whole)
            finished = {path.name for path in folder.iterdir()}
            assert finished - {path.name for path in whole.iterdir()} <= {".training.lock"}, at
            shutil.rmtree(folder)


def test_killed_at_some_operations_it_ends_the_same(tmp_path: Path) -> None:
    killed_everywhere(recipe_of("biaffine"), tmp_path, EVERY)


@pytest.mark.slow
def test_killed_again_while_it_resumes_it_ends_the_same(tmp_path: Path) -> None:
    recipe, whole = recipe_of("biaffine"), tmp_path / "whole"
    count = operations_of(recipe, whole)
    folder = tmp_path / "m"
    die(recipe, folder, count // 2, half=True)
    for at in (1, 4, 9, 16, 25):
        die(recipe, folder, at, half=True, resume=True)
    go_on(recipe, folder)
    assert_as_if_nothing_had_been(folder, whole)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", names())
def test_killed_at_every_operation_it_ends_the_same(tmp_path: Path, architecture: str) -> None:
    killed_everywhere(recipe_of(architecture), tmp_path, 1)
