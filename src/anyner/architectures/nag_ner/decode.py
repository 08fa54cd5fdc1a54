"""Proposals -> entities: blocks of one word get different entities, then thresholds and overlap policy. numpy only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyner.architectures.generation import least_score, loosest_score
from anyner.architectures.settings import Decoding
from anyner.overlap import resolve
from anyner.text.align import WordEntity


def decode(proposals: Mapping[str, NDArray[Any]], sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence. Each block gives the best of its candidates that no block before it has given."""
    least, start = loosest_score(decoding.thresholds), decoding.thresholds.get("start", 0.0)
    found: list[dict[tuple[int, ...], float]] = [{} for _ in range(sentences)]
    best = proposals["score"].max(1, initial=0.0)
    for block in np.flatnonzero((best >= least) & (proposals["start"] >= start)).tolist():
        taken = found[int(proposals["place"][block, 0])]
        for score, key in sorted(_candidates(proposals, block), key=lambda candidate: -candidate[0]):
            discontinuous = key[-1] - key[1] + 1 > len(key) - 1
            if score >= least_score(decoding.thresholds, discontinuous) and key not in taken:
                taken[key] = score
                break
    entities = [
        [WordEntity.of_words(decoding.labels[key[0]], key[1:], score) for key, score in sorted(each.items())] for each in found
    ]
    return [resolve(own, decoding.policy) if len(own) > 1 else own for own in entities]


def _candidates(proposals: Mapping[str, NDArray[Any]], block: int) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Score, and label and words, of each entity that a block may be."""
    word = int(proposals["place"][block, 1])
    scores, labels, counts = (proposals[name][block].tolist() for name in ("score", "label", "count"))
    for number, (score, label, count) in enumerate(zip(scores, labels, counts, strict=True)):
        if score > 0:
            yield score, (label, *(word + proposals["words"][block, number, :count]).tolist())
