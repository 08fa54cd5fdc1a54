"""A model gives the same entities with ONNX Runtime as in torch, whatever the batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import anyner
from anyner.architectures.registry import names, numpy_head_class
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.export.parity import CLOSE, Parity, compared
from anyner.inference.onnx_runtime import renumbered
from anyner.inference.recognizer import Recognizer

Export = Callable[..., Path]


def _exportable(name: str) -> bool:
    try:
        return bool(numpy_head_class(name))
    except AnynerError:
        return False


EXPORTABLE = [name for name in names() if _exportable(name)]


@pytest.mark.parametrize("architecture", EXPORTABLE)
def test_entities_are_those_of_torch_in_batches_of_1_7_and_64(
    architecture: str, exported: Export, documents: list[Document]
) -> None:
    parity = compared(*_both(exported(architecture)), documents)
    assert parity.holds, parity
    assert parity.entities >= 5


def _both(folder: Path) -> tuple[Recognizer, Recognizer]:
    """In torch and with the graph, at the loosest thresholds, so that there is much to compare."""
    in_torch, in_onnx = anyner.load(folder, runtime="torch"), anyner.load(folder, runtime="onnx")
    loosest = {threshold.name: threshold.loosest for threshold in in_torch.runtime.head_config.thresholds()}
    for one in (in_torch, in_onnx):
        one.config = one.config.updated({"thresholds": loosest}, "config")
    return in_torch, in_onnx


def test_word_shapes_and_a_bilstm_are_in_the_graph(exported: Export, documents: list[Document]) -> None:
    """The probability of every span, however small, of windows of different lengths."""
    both = _both(exported("biaffine", "lstm"))
    windows = both[0].windows(documents)[:12]
    everything = replace(both[0].decoding(), thresholds=dict.fromkeys(both[0].config.thresholds, 0.0))
    one, other = (ner.runtime.propose(windows, everything) for ner in both)
    assert len({len(window.words) for window in windows}) > 3
    assert (one["place"] == other["place"]).all()
    assert np.ptp(one["score"]) > 0.3 * one["score"].mean(), "they differ from span to span"
    assert other["score"] == pytest.approx(one["score"], rel=1e-3)


@pytest.mark.parametrize("architecture", [name for name in EXPORTABLE if name != "biaffine"])
def test_the_span_classifier_alone_is_that_of_torch(architecture: str, exported: Export, documents: list[Document]) -> None:
    both = _both(exported(architecture))
    first, second = ([one.entities for one in ner.predict(documents, options={"span_classifier_alone": True})] for ner in both)
    assert [[entity.key for entity in own] for own in first] == [[entity.key for entity in own] for own in second]
    scores = [[entity.score for own in found for entity in own] for found in (first, second)]
    assert scores[0]
    assert scores[1] == pytest.approx(scores[0], abs=CLOSE)


def test_a_comparison_tells_other_entities(exported: Export, documents: list[Document]) -> None:
    folder = exported("biaffine")
    strict = anyner.load(folder, runtime="onnx")
    strict.config = strict.config.updated({"thresholds": dict.fromkeys(strict.config.thresholds, 0.99)}, "config")
    assert not compared(anyner.load(folder, runtime="torch"), strict, documents[:20]).holds
    assert not Parity(10, 5, 0, 2 * CLOSE, 1.0).holds
    with pytest.raises(AnynerError, match="no documents"):
        compared(strict, strict, [])


@pytest.mark.parametrize("pad", [0, 1, 5])
def test_pieces_are_renumbered_and_padding_keeps_its_number(pad: int) -> None:
    pieces = np.array([[40, 7, 40, pad], [3, pad, pad, pad]])
    used, places = renumbered(pieces, pad)
    assert (used[places] == pieces).all()
    assert ((places == pad) == (pieces == pad)).all()
    assert len(used) == max(4, pad + 1)
