"""Proposals -> entities: thresholds, soft-NMS (Algorithm 1, equation 18) and the overlap policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyner.architectures.locate_label.config import LocateLabelOptions
from anyner.architectures.settings import Decoding
from anyner.overlap import resolve
from anyner.text.align import WordEntity

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
LARGEST = 2**24
"""Numbers that one array of soft-NMS may hold, unless a single sentence needs more."""


def decode(proposals: Mapping[str, NDArray[Any]], sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence."""
    assert isinstance(decoding.options, LocateLabelOptions)
    least = decoding.thresholds["score"]
    # A score only falls, and a span takes score only from lesser ones: what is below the threshold now changes no other's fate.
    kept = (proposals["place"][:, 1] >= 0) & (proposals["score"] >= least)
    if "filter" in decoding.thresholds:
        kept &= proposals["filter"] >= decoding.thresholds["filter"]
    place, score = proposals["place"][kept], proposals["score"][kept].astype(np.float64)
    if decoding.options.soft_nms and len(place):
        order = np.lexsort((place[:, 3], place[:, 2], place[:, 0]))
        place, score = place[order], score[order]
        score = softened(place, score, decoding.options)
        place, score = place[score >= least], score[score >= least]
    found: list[list[WordEntity]] = [[] for _ in range(sentences)]
    for (sentence, label, first, last), own in zip(place.tolist(), score.tolist(), strict=True):
        found[sentence].append(WordEntity(decoding.labels[label], ((first, last + 1),), own))
    return [resolve(entities, decoding.policy) if len(entities) > 1 else entities for entities in found]


def softened(place: Integers, score: Floats, options: LocateLabelOptions) -> Floats:
    """The scores after soft-NMS: (P,). `place` (P, 4) is sorted by sentence, then by first word."""
    one, other = _rivals(place, options.decay_iou)
    result = score.copy()
    # Only sentences with rivals take part, those with few spans first: so many at once as fit into one square array.
    sentences, counts = np.unique(place[np.isin(place[:, 0], place[one, 0]), 0], return_counts=True)
    for own in _together(sentences[np.argsort(counts, kind="stable")], np.sort(counts)):
        pairs = np.isin(place[one, 0], own)
        member = np.flatnonzero(np.isin(place[:, 0], own))
        result[member] = _softened_together(member, (one[pairs], other[pairs]), place[:, 0], score, options.decay)
    return result


def _together(sentences: Integers, counts: Integers) -> Iterator[Integers]:
    """Sentences, by rising number of spans, in parts whose square arrays stay small; a sentence too large for that is alone."""
    begin = 0
    for place in range(len(sentences)):
        if place > begin and (place + 1 - begin) * counts[place] ** 2 > LARGEST:
            yield sentences[begin:place]
            begin = place
    if begin < len(sentences):
        yield sentences[begin:]


def _softened_together(
    member: Integers, pairs: tuple[Integers, Integers], sentence: Integers, score: Floats, decay: float
) -> Floats:
    """The scores of the members: one row a sentence, as wide as the fullest."""
    _, row = np.unique(sentence[member], return_inverse=True)
    counts = np.bincount(row)
    column = np.arange(len(member)) - (np.cumsum(counts) - counts)[row]
    scores = np.full((len(counts), counts.max()), -np.inf)
    scores[row, column] = score[member]
    near = np.zeros((*scores.shape, scores.shape[1]), dtype=np.bool_)
    one, other = (np.searchsorted(member, side) for side in pairs)
    near[row[one], column[one], column[other]] = near[row[one], column[other], column[one]] = True
    return _decayed(scores, near, decay)[row, column]


def _rivals(place: Integers, least: float) -> tuple[Integers, Integers]:
    """All pairs of spans in one sentence that nearly equal each other: (R,) and (R,).

    Of two spans with that IoU the later starts within (1 - least) of the earlier one's length: only such pairs are made.
    """
    sentence, _, first, last = place.T
    start = sentence * (last.max(initial=0) + 1) + first  # (P,) rising
    reach = np.floor((1 - least) * (last - first + 1) + 1e-9).astype(np.int64)
    reach = np.minimum(reach, last - first)  # never into the next sentence
    behind = np.searchsorted(start, start + reach, side="right") - np.arange(len(place)) - 1  # (P,) partners that follow
    one = np.repeat(np.arange(len(place)), behind)
    other = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(behind) - behind, behind)
    shared = np.minimum(last[one], last[other]) - np.maximum(first[one], first[other]) + 1
    around = np.maximum(last[one], last[other]) - np.minimum(first[one], first[other]) + 1
    near = shared >= least * around
    return one[near], other[near]


def _decayed(scores: Floats, near: NDArray[np.bool_], decay: float) -> Floats:
    """In all rows at once, the best span not yet taken is taken and its rivals that are left lose score: (R, K)."""
    left, final = scores.copy(), scores.copy()
    rows = np.arange(len(scores))
    for _ in range(scores.shape[1]):
        best = left.argmax(1)  # (R,) of equal ones the first
        score = left[rows, best]
        final[rows, best] = np.where(np.isneginf(score), final[rows, best], score)  # -inf: nothing is left in this row
        left[rows, best] = -np.inf
        left = np.where(near[rows, best], left * decay, left)  # -inf stays
    return final
