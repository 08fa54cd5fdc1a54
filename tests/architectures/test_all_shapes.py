"""Architectures that predict spans find discontinuous entities as well: sentences of all shapes are learned by heart."""

from __future__ import annotations

from pathlib import Path

import pytest
from by_heart import learned_by_heart

from anyner.architectures.registry import config_class
from anyner.architectures.settings import CorpusStatistics

SPAN_HEADS = ("biaffine", "locate_label", "diffusion_ner")


@pytest.mark.parametrize("architecture", SPAN_HEADS)
def test_sentences_of_all_shapes_are_learned_by_heart(architecture: str, tmp_path: Path) -> None:
    learned = learned_by_heart(tmp_path, architecture, {}, epochs=15, enough=0.9, contiguous=False)
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
        statistics = CorpusStatistics(("A",), sizes, sizes, sizes, 1, 1, 512, encoder_decoder=False, discontinuous=discontinuous)
        fitted = config().fitted(statistics)
        assert ("discontinuous" in fitted.shapes()) == discontinuous
        assert ("discontinuous" in fitted.default_thresholds()) == discontinuous
        other = config.of({"fragments": not discontinuous}, "head").fitted(statistics)
        assert ("discontinuous" in other.shapes()) != discontinuous
    paper = config.of({**config.PAPER, "fragments": False}, "head")
    assert "discontinuous" not in paper.shapes()
