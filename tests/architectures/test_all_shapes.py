"""Architectures that predict spans also find discontinuous entities: they overfit sentences of all shapes."""

from __future__ import annotations

from pathlib import Path

import pytest
from overfitting import overfit

from anyner.architectures.registry import config_class
from anyner.architectures.settings import CorpusStatistics
from anyner.corpora.synthetic import synthetic
from anyner.text.align import WordEntity

SPAN_HEADS = ("biaffine", "locate_label", "diffusion_ner")


@pytest.mark.parametrize("architecture", ["biaffine", *(pytest.param(name, marks=pytest.mark.slow) for name in SPAN_HEADS[1:])])
def test_sentences_of_all_shapes_can_be_overfitted(architecture: str, tmp_path: Path) -> None:
    documents = synthetic(6, seed=4).documents
    # from scratch, the denoiser learns faster without the loss weight that suits pretrained encoders
    head = {"span_classifier": {"loss_weight": 1}} if architecture == "diffusion_ner" else {}
    learned = overfit(tmp_path, architecture, head, epochs=20, until=0.97, contiguous=False, documents=documents)
    assert learned.best_f1 >= 0.9
    texts = [document.text for document in learned.documents]
    found = [{e.key for e in document.entities} for document in learned.recognizer.stream(texts, batch_tokens=64)]
    gold = [{e.key for e in document.entities if len(e.fragments) > 1} for document in learned.documents]
    assert sum(map(len, gold)) > 2
    assert sum(len(own & keys) for own, keys in zip(gold, found, strict=True)) >= sum(map(len, gold)) - 1
    assert "discontinuous" in learned.recognizer.config.thresholds


@pytest.mark.parametrize("architecture", SPAN_HEADS)
def test_fragments_follow_the_corpus_unless_set(architecture: str) -> None:
    config = config_class(architecture)
    for discontinuous in (True, False):
        sizes = (1, 2)
        statistics = CorpusStatistics(("A",), sizes, sizes, sizes, 1, 512, encoder_decoder=False, discontinuous=discontinuous)
        fitted = config().fitted(statistics)
        assert ("discontinuous" in fitted.shapes()) == discontinuous
        assert ("discontinuous" in fitted.default_thresholds()) == discontinuous
        other = config.of({"fragments": not discontinuous}, "head").fitted(statistics)
        assert ("discontinuous" in other.shapes()) != discontinuous
    paper = config.of({**config.PAPER, "fragments": False}, "head")
    assert "discontinuous" not in paper.shapes()


def test_one_label_per_span_is_also_one_per_fragment() -> None:
    """A span cannot be both a fragment and an entity, or a fragment of two entities with different labels."""
    entities = [
        WordEntity.of_words("A", (0, 2)),
        WordEntity.of_words("A", (0, 4)),
        WordEntity.of_words("B", (0, 6)),
        WordEntity.of_words("A", (2,)),
    ]
    for architecture, reasons in (("biaffine", {None}), ("locate_label", {None, "a second label on the same words"})):
        found = config_class(architecture).of({"fragments": True}, "head").unreachable(entities, [1] * 8)
        assert set(found) == reasons
        assert found[:2] == [None, None], "two entities of one label share a fragment"
