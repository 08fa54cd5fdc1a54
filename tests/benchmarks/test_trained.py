"""A benchmark training that was cut short is resumed, and a complete one is not run again."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.errors import AnynerError
from anyner.training.config import Recipe
from anyner.training.progress import EpochRecord, Listener

ROOT = Path(__file__).parent.parent.parent
PLAIN: dict[str, Any] = {
    "data": {"synthetic": {"contiguous": True, "sentences": 24}},
    "encoder": {"scratch_width": 16, "pooling": "first", "lstm_layers": 0},
    "training": {"word_dropout": 0, "average_epochs": 0, "epochs": 3, "batch_sentences": 8},
}
RECIPE = Recipe.of(PLAIN, "recipe")


@pytest.fixture
def reproduce(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("reproduce")


class NoMemoryError(Exception):
    pass


class Second(Listener):
    """Does something after the second epoch of the first try."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.act, self.epochs = act, list[int]()

    def epoch(self, record: EpochRecord) -> None:
        self.epochs.append(record.epoch)
        if self.epochs == [1, 2]:
            self.act()


def no_memory() -> None:
    raise NoMemoryError


def test_an_unfinished_training_is_resumed_and_a_complete_one_is_kept(
    reproduce: ModuleType, tmp_path: Path, checkpoint_every: Callable[[int], None]
) -> None:
    checkpoint_every(1)
    listener, folder = Second(no_memory), tmp_path / "model"
    with pytest.raises(NoMemoryError):
        reproduce.train_or_resume(RECIPE, folder, listener)
    reproduce.train_or_resume(RECIPE, folder, listener)
    assert listener.epochs[:2] == [1, 2] and listener.epochs[-1] == 3
    assert listener.epochs.count(1) == 1, "it began anew"
    before = {file: file.read_bytes() for file in sorted(folder.iterdir())}
    reproduce.train_or_resume(RECIPE, folder, None)
    assert {file: file.read_bytes() for file in sorted(folder.iterdir())} == before
    other = RECIPE.model_copy(update={"training": RECIPE.training.model_copy(update={"epochs": 2})})
    with pytest.raises(AnynerError, match="already holds a model"):
        reproduce.train_or_resume(other, folder, None)
    test = synthetic(8, contiguous=True, split="test").documents
    result = reproduce.scored(folder, test)
    assert (result["what"], result["seed"], result["epochs"]) == ("accuracy", 0, 3)
    assert result["test"] == anyner.evaluate(anyner.load(folder), test).to_json()
    assert "test" not in reproduce.scored(folder, None)


def test_an_interrupted_training_is_scored_with_its_epochs_so_far(reproduce: ModuleType, tmp_path: Path) -> None:
    reproduce.train_or_resume(RECIPE, tmp_path / "model", Second(partial(signal.raise_signal, signal.SIGINT)))
    assert reproduce.scored(tmp_path / "model", None)["epochs"] == 2


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ({"train": ["mine/train.jsonl"]}, "mine"),
        ({"train": ["notes.conll.gz"]}, "notes"),
        ({"train": ["a/train.jsonl", "b/train.conll"]}, "a+b"),
        ({"train": ["train.jsonl"]}, "train"),
        ({"folder": "data/genia"}, "genia"),
        ({"synthetic": {}}, "synthetic"),
    ],
)
def test_a_result_is_named_by_its_recipe(reproduce: ModuleType, data: dict[str, Any], name: str) -> None:
    own = {"dev": "dev.jsonl"} if "train" in data else {}
    recipe = Recipe.of({"data": data | own, "architecture": "set_gner", "encoder": {"source": "models/minilm"}}, "recipe")
    result = {"recipe": json.loads(recipe.model_dump_json(exclude_defaults=True)), "seed": 4}
    assert reproduce.name_of(result) == f"set_gner-{name}-minilm-seed4"
