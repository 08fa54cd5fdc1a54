"""A training for a benchmark that was cut short goes on where it was, and a complete one is not done again."""

from __future__ import annotations

from pathlib import Path

import pytest

from anyner.benchmark.accuracy import scored, trained
from anyner.errors import AnynerError
from anyner.training.config import Recipe
from anyner.training.progress import EpochRecord, Silent

RECIPE = Recipe.of(
    {
        "data": {"synthetic": {"contiguous": True, "train": 24, "dev": 8}},
        "encoder": {"scratch": {"width": 16, "layers": 1, "vocabulary": 200}},
        "training": {"epochs": 3, "batch_sentences": 8, "checkpoint_steps": 1},
    },
    "recipe",
)


class NoMemoryError(Exception):
    pass


class Second(Silent):
    def __init__(self) -> None:
        self.epochs = list[int]()

    def epoch(self, record: EpochRecord) -> None:
        self.epochs.append(record.epoch)
        if self.epochs == [1, 2]:
            raise NoMemoryError


def test_what_an_earlier_try_began_is_gone_on_with(tmp_path: Path) -> None:
    listener = Second()
    with pytest.raises(NoMemoryError):
        trained(RECIPE, tmp_path / "model", listener, resume=True)
    with pytest.raises(AnynerError, match="holds an unfinished training"):
        trained(RECIPE, tmp_path / "model", listener)
    trained(RECIPE, tmp_path / "model", listener, resume=True)
    assert listener.epochs[:2] == [1, 2] and listener.epochs[-1] == 3
    assert listener.epochs.count(1) == 1, "it began anew"
    assert scored(tmp_path / "model", None)["epochs"] == 3


def test_what_an_earlier_try_completed_is_taken_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    trained(RECIPE, folder, None, resume=True)
    before = {file: file.read_bytes() for file in sorted(folder.iterdir())}
    trained(RECIPE, folder, None, resume=True)
    assert {file: file.read_bytes() for file in sorted(folder.iterdir())} == before
    other = RECIPE.model_copy(update={"training": RECIPE.training.model_copy(update={"epochs": 2})})
    for recipe, resume in ((RECIPE, False), (other, True)):
        with pytest.raises(AnynerError, match="already holds a model"):
            trained(recipe, folder, None, resume=resume)
