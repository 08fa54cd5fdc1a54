"""Estimated times come from real steps and leave nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from anyner.training.config import Recipe
from anyner.training.data.splits import Corpora, Splits, split_data
from anyner.training.estimate import about, estimate
from anyner.training.run import run


def documents(recipe: Recipe) -> Splits:
    return split_data(Corpora.read(recipe.data), recipe.data, recipe.text)


def test_the_estimate_is_near_the_time_that_the_training_takes(
    tiny: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = tiny("data.synthetic.sentences=60", "training.epochs=4")
    found = estimate(recipe, documents(recipe))
    assert not list(tmp_path.iterdir())
    took = run(recipe, tmp_path / "model").outcome.seconds
    assert took / 10 < found.training < took * 10
    longer = tiny("data.synthetic.sentences=60", "training.epochs=400")
    assert estimate(longer, documents(longer)).training > 10 * found.training


def test_durations_in_words() -> None:
    assert [about(seconds) for seconds in (20, 500, 3600, 8000)] == [
        "under a minute",
        "about 8 min",
        "about 1 h 0 min",
        "about 2 h 13 min",
    ]
