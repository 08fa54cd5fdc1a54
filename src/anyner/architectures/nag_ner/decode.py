"""Proposals -> entities: blocks of one word get different entities, then thresholds and overlap policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyner.architectures.generation import least_score, loosest_score
from anyner.architectures.settings import Decoding
from anyner.overlap import resolve
from anyner.text.align import WordEntity


def decode(proposals: Mapping[str, NDArray[Any]], sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence."""
    least, start = loosest_score(decoding.thresholds), decoding.thresholds.get("start", 0.0)
    found: list[dict[tuple[int, ...], float]] = [{} for _ in range(sentences)]
    best = np.maximum(proposals["score"].max(1, initial=0.0), proposals["long_score"])
    for block in np.flatnonzero((best >= least) & (proposals["start"] >= start)).tolist():
        taken = found[int(proposals["place"][block, 0])]
        for own, key in sorted(_candidates(proposals, block), key=lambda one: -one[0]):
            gaps = key[-1] - key[1] + 1 > len(key) - 1
            # an entity that a block of a lower rank has written is not written again
            if own >= least_score(decoding.thresholds, gaps) and key not in taken:
                taken[key] = own
                break
    entities = [
        [WordEntity.of_words(decoding.labels[key[0]], key[1:], own) for key, own in sorted(each.items())] for each in found
    ]
    return [resolve(own, decoding.policy) if len(own) > 1 else own for own in entities]


def _candidates(proposals: Mapping[str, NDArray[Any]], block: int) -> list[tuple[float, tuple[int, ...]]]:
    """What a block may be: scores, and label and words of each."""
    word = int(proposals["place"][block, 1])
    rows = zip(
        proposals["score"][block].tolist(),
        proposals["label"][block].tolist(),
        proposals["words"][block] + word,
        proposals["count"][block].tolist(),
        strict=True,
    )
    found = [(own, (label, *words[:count].tolist())) for own, label, words, count in rows if own > 0]
    long = float(proposals["long_score"][block])
    if long > 0:
        found.append((long, (int(proposals["long_label"][block]), *range(word, int(proposals["last"][block]) + 1))))
    return found
