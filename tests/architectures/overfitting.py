"""Overfitting to a few sentences: an architecture that cannot is broken somewhere between text and loss."""

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
"""Passes over the sentences per epoch: scoring dev takes longer than training on so few."""
WIDTH = 48


@dataclass(frozen=True, slots=True)
class Learned:
    recognizer: Recognizer
    documents: tuple[anyner.Document, ...]
    best_f1: float


class _ReachedError(Exception):
    """The target dev F1 is reached."""


class _Until(Listener):
    """Stops training when an epoch's dev F1 reaches `until`; its model is already saved then."""

    def __init__(self, until: float) -> None:
        self.until, self.best_f1 = until, 0.0

    def epoch(self, record: EpochRecord) -> None:
        assert record.dev_f1 is not None
        self.best_f1 = max(self.best_f1, record.dev_f1)
        if record.dev_f1 >= self.until:
            raise _ReachedError


def overfit(
    folder: Path,
    architecture: str,
    head: dict[str, Any],
    *,
    epochs: int,
    until: float = 1.0,
    contiguous: bool = True,
    documents: tuple[anyner.Document, ...] = (),
) -> Learned:
    """Trains on these documents, on eight sentences, or on four with discontinuous entities, as decoders take longer."""
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
    best_f1 = train_until(until, recipe, folder / "model")
    return Learned(anyner.load(folder / "model"), documents, best_f1)


def small(architecture: str, width: int = 64) -> dict[str, int]:
    """A small width for the head, if that is a setting."""
    return {"width": width} if "width" in config_class(architecture).model_fields else {}


def train_until(until: float, recipe: Recipe, folder: Path) -> float:
    """The best dev F1 of a training that stops when it reaches `until`."""
    listener = _Until(until)
    with contextlib.suppress(_ReachedError):
        anyner.train(recipe, folder, listener=listener)
    return listener.best_f1
