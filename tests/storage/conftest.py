from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from anyner.inference.recognizer import Recognizer
from anyner.storage.load import load
from anyner.training.config import Recipe
from anyner.training.run import run

TINY = {
    "data": {"synthetic": {"contiguous": True, "sentences": 150}},
    "encoder": {"scratch_width": 64},
    "head": {"width": 64},
    "training": {"epochs": 5, "batch_sentences": 8, "encoder_lr": 0.003, "head_lr": 0.003},
}


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model that finds something."""
    return run(Recipe.of(TINY, "recipe"), tmp_path_factory.mktemp("stored") / "model").folder


@pytest.fixture(scope="session")
def recognizer(model_folder: Path) -> Recognizer:
    return load(model_folder, "cpu")


@pytest.fixture
def copied(model_folder: Path, tmp_path: Path) -> Path:
    """A copy of the model folder that a test may break."""
    return Path(shutil.copytree(model_folder, tmp_path / "copy"))


@pytest.fixture(scope="session")
def keys() -> Callable[[Recognizer], list[object]]:
    """Every entity with its score that a recognizer finds in some sentences."""
    from anyner.corpora.synthetic import synthetic

    texts = [document.text for document in synthetic(40, seed=3, contiguous=True, split="dev")]
    return lambda recognizer: [(d.text, e.key, e.score) for d in recognizer.predict(texts) for e in d.entities]
