"""Fifty nested sentences can be learned by heart, through the same door as every architecture."""

from pathlib import Path

import pytest

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.evaluation.scores import Score
from anyner.training.config import Recipe


@pytest.mark.parametrize("head", [{}, {"filter": False, "regressor": False}], ids=["both stages", "without filter and regressor"])
def test_fifty_sentences_are_learned_by_heart(tmp_path: Path, head: dict[str, bool]) -> None:
    documents = synthetic(50, seed=3, contiguous=True).documents
    data = tmp_path / "data.jsonl"
    anyner.write(documents, data, "jsonl")
    recipe = Recipe.of(
        {
            "data": {"train": str(data), "dev": str(data)},
            "encoder": {"fresh_width": 64, "fresh_layers": 1, "fresh_vocabulary": 800, "dropout": 0.0},
            "architecture": "locate_label",
            "head": {"dropout": 0.0, "width": 64, **head},
            "training": {"epochs": 60, "batch_sentences": 10, "encoder_lr": 2e-3, "head_lr": 2e-3, "patience": 20},
        },
        "recipe",
    )
    result = anyner.train(recipe, tmp_path / "model")
    assert result.outcome.best_f1 == 1.0
    recognizer = anyner.load(tmp_path / "model")
    found = list(recognizer.stream([document.text for document in documents], batch_tokens=64))
    total = Score(0, 0, 0)
    for gold, one in zip(documents, found, strict=True):
        keys, wanted = {e.key for e in one.entities}, {e.key for e in gold.entities}
        total += Score(len(keys & wanted), len(keys), len(wanted))
    assert total.f1 == 1.0
