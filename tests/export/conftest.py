"""Small models with their graphs, trained a few seconds on the synthetic corpus."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.export.graph import add_graph
from anyner.training.config import Recipe

Export = Callable[..., Path]


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Export:
    """A model folder with a graph, by its architecture and a name of settings."""

    @cache
    def made(architecture: str, kind: str = "plain") -> Path:
        return _made(architecture, kind, tmp_path_factory.mktemp("exported") / architecture)

    return made


SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {"encoder": {"pooling": "max"}},
    "lstm": {"encoder": {"lstm_layers": 2, "word_shapes": 8, "pooling": "mean"}},
}


def _made(architecture: str, kind: str, folder: Path) -> Path:
    own = SETTINGS[kind]
    plain = {
        "data": {"synthetic": {"sentences": 60}, **own.get("data", {})},
        "architecture": architecture,
        "encoder": {"source": "from_scratch", "scratch_width": 32, **own.get("encoder", {})},
        "training": {
            "epochs": 20 if architecture == "diffusion_ner" else 8,
            "encoder_lr": 5e-3,
            "head_lr": 5e-3,
        },
    }
    anyner.train(Recipe.of(plain, "the recipe"), folder)
    add_graph(anyner.load(folder, runtime="torch"), folder)
    return folder


@pytest.fixture(scope="session")
def documents() -> list[Document]:
    """Sentences, a text of many of them, and odd ones."""
    sentences = [Document(one.text) for one in (*synthetic(15), *synthetic(15, split="test"))]
    long = Document(" ".join(one.text for one in sentences))
    return [*sentences, long, Document("pain"), Document(""), Document("Ärger mit 水 and 🙂 in " + "x" * 300)]
