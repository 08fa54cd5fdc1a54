"""Labelled spans -> entities, for every architecture whose proposals are spans. numpy only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from anyner.architectures.settings import Decoding
from anyner.overlap import resolve
from anyner.text.align import WordEntity


def decode_spans(proposals: Mapping[str, NDArray[Any]], sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence whose score reaches the threshold `score`, with overlaps resolved by the policy."""
    kept = proposals["score"] >= decoding.thresholds["score"]
    found: list[list[WordEntity]] = [[] for _ in range(sentences)]
    places, scores = proposals["place"][kept].tolist(), proposals["score"][kept].tolist()
    for (sentence, label, first, last), score in zip(places, scores, strict=True):
        found[sentence].append(WordEntity(decoding.labels[label], ((first, last + 1),), score))
    return [resolve(entities, decoding.policy) if len(entities) > 1 else entities for entities in found]
