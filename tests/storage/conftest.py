from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from anyner.inference.recognizer import Recognizer
from anyner.storage.load import load


@pytest.fixture(scope="session")
def model_folder(tiny_model: Path) -> Path:
    """A small model that finds something."""
    return tiny_model


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
