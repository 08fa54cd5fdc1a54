from __future__ import annotations

from pathlib import Path

import pytest

from anyner.architectures.registry import names
from anyner.storage.save import save
from anyner.training.config import Recipe
from anyner.training.data.splits import read_data
from anyner.training.run import build


@pytest.fixture(scope="session")
def untrained_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model folder of every architecture; loading does not depend on what a model has learned."""
    root = tmp_path_factory.mktemp("untrained")
    folders = {}
    for architecture in names():
        plain = {
            "data": {"synthetic": {"contiguous": True, "sentences": 8}},
            "encoder": {"source": "from_scratch", "scratch_width": 32, "pooling": "first", "lstm_layers": 0},
            "architecture": architecture,
        }
        recipe = Recipe.of(plain, "recipe")
        recognizer, _, _ = build(recipe, read_data(recipe.data, recipe.text))
        folders[architecture] = save(recognizer, root / architecture)
    return folders
