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
    """The entities of each sentence. A block's score is the probability of its label times how sure its words are."""
    least, start = loosest_score(decoding.thresholds), decoding.thresholds.get("start", 0.0)
    found: list[dict[tuple[int, ...], float]] = [{} for _ in range(sentences)]
    kind = proposals["kind"].astype(np.float64)
    scores = proposals["score"] * kind[:, None]  # (Q, K)
    long_scores = proposals["long_score"] * kind
    best = np.maximum(scores.max(1, initial=0.0), long_scores)
    for block in np.flatnonzero((best >= least) & (proposals["start"] >= start)).tolist():
        sentence, word, _, label, last = proposals["place"][block].tolist()
        taken = found[sentence]
        candidates = _candidates(proposals["words"][block], proposals["count"][block], scores[block], word)
        if long_scores[block] > 0:
            candidates.append((float(long_scores[block]), tuple(range(word, last + 1))))
        for own, words in sorted(candidates, key=lambda one: -one[0]):
            key, gaps = (label, *words), words[-1] - words[0] + 1 > len(words)
            # an entity that a block of a lower rank has written is not written again
            if own >= least_score(decoding.thresholds, gaps) and key not in taken:
                taken[key] = own
                break
    entities = [
        [WordEntity.of_words(decoding.labels[key[0]], key[1:], own) for key, own in sorted(each.items())] for each in found
    ]
    return [resolve(own, decoding.policy) if len(own) > 1 else own for own in entities]


def _candidates(
    words: NDArray[Any], counts: NDArray[Any], scores: NDArray[Any], word: int
) -> list[tuple[float, tuple[int, ...]]]:
    """What a block may be: words (K, W) counted from its own."""
    rows = zip(scores.tolist(), words + word, counts.tolist(), strict=True)
    return [(own, tuple(row[:count].tolist())) for own, row, count in rows if own > 0]
