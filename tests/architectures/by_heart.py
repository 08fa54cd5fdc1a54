"""A few sentences for an architecture to learn by heart: what cannot do that is broken somewhere between text and loss."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyner
from anyner.architectures.registry import config_class
from anyner.corpora.synthetic import synthetic
from anyner.inference.recognizer import Recognizer
from anyner.training.config import Recipe
from anyner.training.progress import EpochRecord, Listener

READ = 12
"""How often an epoch reads every sentence: scoring dev takes longer than learning so few."""
WIDTH = 48


@dataclass(frozen=True, slots=True)
class Learned:
    recognizer: Recognizer
    documents: tuple[anyner.Document, ...]
    best_f1: float


class _EnoughError(Exception):
    """The dev score that was waited for is there."""


class _Until(Listener):
    """Ends a training as soon as an epoch's dev score is `enough`: its model is saved by then."""

    def __init__(self, enough: float) -> None:
        self.enough, self.best_f1 = enough, 0.0

    def epoch(self, record: EpochRecord) -> None:
        assert record.dev_f1 is not None
        self.best_f1 = max(self.best_f1, record.dev_f1)
        if record.dev_f1 >= self.enough:
            raise _EnoughError


def learned_by_heart(
    folder: Path,
    architecture: str,
    head: dict[str, Any],
    *,
    epochs: int,
    enough: float = 1.0,
    contiguous: bool = True,
    documents: tuple[anyner.Document, ...] = (),
) -> Learned:
    """These documents, or eight sentences, or four with discontinuous entities: a decoder's steps take longer."""
    if not documents:
        documents = (synthetic(8, seed=4, contiguous=True) if contiguous else synthetic(4, seed=11)).documents
    rate = 5e-3 if contiguous else 6e-3
    data = folder / "data.jsonl"
    anyner.write(documents, data, "jsonl")
    recipe = Recipe.of(
        {
            "data": {"train": [str(data)] * READ, "dev": str(data), "augmentation": 0, "oversample_discontinuous": 1},
            "encoder": {"scratch_width": WIDTH, "pooling": "first", "lstm_layers": 0},
            "architecture": architecture,
            "head": {"dropout": 0.0, **small(architecture, WIDTH), **head},
            "training": {"word_dropout": 0, "adversarial": 0, "average_epochs": 0,
                "epochs": epochs, "batch_sentences": 4, "encoder_lr": rate, "head_lr": rate, "passages": False,
            },
        },
        "recipe",
    )  # fmt: skip
    best_f1 = best_until(enough, recipe, folder / "model")
    return Learned(anyner.load(folder / "model"), documents, best_f1)


def small(architecture: str, width: int = 64) -> dict[str, int]:
    """A width for the head, where it has one to set."""
    return {"width": width} if "width" in config_class(architecture).model_fields else {}


def best_until(enough: float, recipe: Recipe, folder: Path) -> float:
    """The best dev score of a training that ends early where it is enough."""
    until = _Until(enough)
    with contextlib.suppress(_EnoughError):
        anyner.train(recipe, folder, listener=until)
    return until.best_f1
