"""Fifty sentences for an architecture to learn by heart: what cannot do that is broken somewhere between text and loss."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.inference.recognizer import Recognizer
from anyner.training.config import Recipe


@dataclass(frozen=True, slots=True)
class Learned:
    recognizer: Recognizer
    documents: tuple[anyner.Document, ...]
    best_f1: float


def learned_by_heart(
    folder: Path, architecture: str, head: dict[str, Any], *, epochs: int, patience: int, contiguous: bool = True
) -> Learned:
    documents = synthetic(50, seed=3, contiguous=contiguous).documents
    data = folder / "data.jsonl"
    anyner.write(documents, data, "jsonl")
    recipe = Recipe.of(
        {
            "data": {"train": str(data), "dev": str(data)},
            "encoder": {"fresh_width": 64, "fresh_layers": 1, "fresh_vocabulary": 800, "dropout": 0.0},
            "architecture": architecture,
            "head": {"dropout": 0.0, "width": 64, **head},
            "training": {
                "epochs": epochs, "batch_sentences": 10, "encoder_lr": 2e-3, "head_lr": 2e-3, "patience": patience,
                "passages": False,
            },
        },
        "recipe",
    )  # fmt: skip
    result = anyner.train(recipe, folder / "model")
    return Learned(anyner.load(folder / "model"), documents, result.outcome.best_f1)
