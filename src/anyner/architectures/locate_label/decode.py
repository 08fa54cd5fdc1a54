"""Proposals -> entities: thresholds, soft-NMS (Algorithm 1, equation 18) and the overlap policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyner.architectures.locate_label.config import LocateLabelOptions
from anyner.architectures.settings import Decoding
from anyner.overlap import resolve
from anyner.text.align import WordEntity

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def decode(proposals: Mapping[str, NDArray[Any]], sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence."""
    assert isinstance(decoding.options, LocateLabelOptions)
    least = decoding.thresholds["score"]
    # A score only falls, and a span takes score only from lesser ones: what is below the threshold now changes no other's fate.
    kept = (proposals["place"][:, 1] >= 0) & (proposals["score"] >= least)
    if "filter" in decoding.thresholds:
        kept &= proposals["filter"] >= decoding.thresholds["filter"]
    place, score = proposals["place"][kept], proposals["score"][kept].astype(np.float64)
    if decoding.options.soft_nms:
        score = softened(place, score, decoding.options)
        place, score = place[score >= least], score[score >= least]
    found: list[list[WordEntity]] = [[] for _ in range(sentences)]
    for (sentence, label, first, last), own in zip(place.tolist(), score.tolist(), strict=True):
        found[sentence].append(WordEntity(decoding.labels[label], ((first, last + 1),), own))
    return [resolve(entities, decoding.policy) if len(entities) > 1 else entities for entities in found]


def softened(place: Integers, score: Floats, options: LocateLabelOptions) -> Floats:
    """The scores after soft-NMS: (P,). `place` (P, 4) is sorted by sentence."""
    one, other = _rivals(place, options.decay_iou)
    if not len(one):
        return score
    # Only sentences with rivals take part: one row each, as wide as the fullest.
    sentences, row = np.unique(place[one, 0], return_inverse=True)
    member = np.flatnonzero(np.isin(place[:, 0], sentences))
    member_row = np.searchsorted(sentences, place[member, 0])
    counts = np.bincount(member_row)
    column = np.arange(len(member)) - (np.cumsum(counts) - counts)[member_row]
    column_of = np.zeros(len(place), dtype=np.int64)
    column_of[member] = column
    scores = np.full((len(sentences), counts.max()), -np.inf)
    scores[member_row, column] = score[member]
    near = np.zeros((*scores.shape, scores.shape[1]), dtype=np.bool_)
    near[row, column_of[one], column_of[other]] = True
    result = score.copy()
    result[member] = _decayed(scores, near, options.decay)[member_row, column]
    return result


def _rivals(place: Integers, least: float) -> tuple[Integers, Integers]:
    """All ordered pairs of spans in one sentence that nearly equal each other: (R,) and (R,)."""
    sentence, _, first, last = place.T
    counts = np.bincount(sentence) if len(sentence) else np.zeros(0, dtype=np.int64)
    own = counts[sentence]  # (P,) spans of the same sentence
    begins = (np.cumsum(counts) - counts)[sentence]
    one = np.repeat(np.arange(len(place)), own)  # every span beside every span of its sentence
    other = np.arange(len(one)) - np.repeat(np.cumsum(own) - own - begins, own)
    shared = np.minimum(last[one], last[other]) - np.maximum(first[one], first[other]) + 1
    around = np.maximum(last[one], last[other]) - np.minimum(first[one], first[other]) + 1
    near = (one != other) & (shared >= least * around)
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
