"""Eight sentences can be overfitted, a small corpus is learned from, and predictions depend on the noisy spans."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from overfitting import Learned, overfit, train_until

import anyner
from anyner.architectures.diffusion_ner.head import Head
from anyner.architectures.draw import Draw
from anyner.encoding.batch import training_batch
from anyner.encoding.examples import Example
from anyner.layers.contiguous import Entities
from anyner.text.align import to_words
from anyner.training.config import Recipe


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Learned:
    folder = tmp_path_factory.mktemp("diffusion")
    head = {"spans": 30, "span_classifier": {"width": 32, "dropout": 0.0, "loss_weight": 1}}
    return overfit(folder, "diffusion_ner", head, epochs=16, until=0.88)


def test_eight_sentences_can_be_overfitted(learned: Learned) -> None:
    recognizer, documents, best = learned.recognizer, learned.documents, learned.best_f1
    assert best >= 0.88
    assert anyner.evaluate(recognizer, documents).strict.f1 == pytest.approx(best)


def test_with_little_noise_predictions_follow_a_swapped_entity(learned: Learned, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "benchmarks"))
    swap = import_module("papers.swap").swap
    recognizer, documents = learned.recognizer, learned.documents
    head = recognizer.model.eval().head
    assert isinstance(head, Head)
    windows = recognizer.windows(documents)
    examples = [
        Example.of(window, to_words(document.entities, window.starts, window.ends).entities, head.labels, None)
        for window, document in zip(windows, documents, strict=True)
    ]
    batch = training_batch(examples, recognizer.vocabulary.frame)
    assert batch.gold is not None
    with torch.no_grad():
        states = recognizer.model.encoder(batch)
    gold = Entities.of(batch.gold.host).rows(len(documents))
    little, all_of_it = (swap(head, states, gold, step, Draw(0)) for step in (0, 999))
    assert little.spans == all_of_it.spans == 30 * sum(len(document.entities) > 1 for document in documents) > 200
    assert little.followed / little.spans >= 0.5
    assert little.followed > 2 * little.stayed
    assert little.followed > all_of_it.followed, "pure noise says nothing about the entity"
    assert all_of_it.unchanged > little.unchanged


def test_scores_are_means_over_samples(learned: Learned) -> None:
    recognizer, documents = learned.recognizer, learned.documents
    texts = [document.text for document in documents]
    once = recognizer.predict(texts)
    thrice = recognizer.predict(texts, options={"samples": 3}, thresholds={"score": 0.1})
    for one, several in zip(once, thrice, strict=True):
        known = {entity.key: entity.score for entity in several.entities}
        assert {entity.key for entity in one.entities} <= known.keys()
    few = recognizer.predict(texts, options={"samples": 3, "spans": 3}, thresholds={"score": 0.1})
    scores = np.array([entity.score for document in few for entity in document.entities])
    assert scores.min() < 0.5 < scores.max() <= 1.0, "what only some samples find has a lower score"
    with torch.no_grad():
        assert recognizer.predict(texts) == once


@pytest.mark.slow
def test_it_learns_from_seventy_three_sentences(tmp_path: Path) -> None:
    """A corpus so small that the authors' code learns nothing from it."""
    recipe = Recipe.of(
        {
            "data": {"synthetic": {"contiguous": True, "sentences": 73}},
            "encoder": {"scratch_width": 64, "pooling": "first", "lstm_layers": 0},
            "architecture": "diffusion_ner",
            "head": {"width": 64, "spans": 30},
            "training": {
                "word_dropout": 0,
                "average_epochs": 0,
                "epochs": 16,
                "batch_sentences": 8,
                "encoder_lr": 4e-3,
                "head_lr": 4e-3,
                "passages": False,
            },
        },
        "recipe",
    )
    assert train_until(0.2, recipe, tmp_path / "model") >= 0.2
