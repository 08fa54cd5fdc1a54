"""A model that cannot learn fifty sentences by heart is broken somewhere between text and loss."""

from pathlib import Path

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.evaluation.scores import Score
from anyner.training.config import Recipe


def test_fifty_sentences_are_learned_by_heart(tmp_path: Path) -> None:
    documents = synthetic(50, seed=3, contiguous=True).documents
    assert sum(len(document.entities) for document in documents) > 80
    data = tmp_path / "data.jsonl"
    anyner.write(documents, data, "jsonl")
    recipe = Recipe.of(
        {
            "data": {"train": str(data), "dev": str(data)},
            "encoder": {"fresh_width": 64, "fresh_layers": 1, "fresh_vocabulary": 800, "dropout": 0.0},
            "head": {"dropout": 0.0, "width": 64},
            "training": {"epochs": 40, "batch_sentences": 10, "encoder_lr": 2e-3, "head_lr": 2e-3, "patience": 15},
        },
        "recipe",
    )
    result = anyner.train(recipe, tmp_path / "model")
    assert result.outcome.best_f1 >= 0.999
    recognizer = anyner.load(tmp_path / "model")
    total = Score(0, 0, 0)
    for gold, found in zip(documents, recognizer.stream([document.text for document in documents]), strict=True):
        keys, wanted = {e.key for e in found.entities}, {e.key for e in gold.entities}
        total += Score(len(keys & wanted), len(keys), len(wanted))
    assert total.f1 == result.outcome.best_f1
