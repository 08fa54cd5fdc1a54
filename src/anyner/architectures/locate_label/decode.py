"""Proposals -> entities: thresholds, soft-NMS (Algorithm 1, equation 18) and the overlap policy. numpy only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyner.architectures.decode import decode_spans
from anyner.architectures.locate_label.config import LocateLabelOptions
from anyner.architectures.settings import Decoding
from anyner.text.align import WordEntity

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
LARGEST = 2**24
"""Most elements of one array of soft-NMS, unless a single sentence needs more."""


def decode(proposals: Mapping[str, NDArray[Any]], sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence."""
    assert isinstance(decoding.options, LocateLabelOptions)
    # Scores only fall, and a span only lowers worse ones: what is below the threshold now cannot affect the others.
    kept = (proposals["place"][:, 1] >= 0) & (proposals["score"] >= decoding.thresholds["score"])
    if "filter" in decoding.thresholds:
        kept &= proposals["filter"] >= decoding.thresholds["filter"]
    place, score = proposals["place"][kept], proposals["score"][kept].astype(np.float64)
    if decoding.options.soft_nms and len(place):
        order = np.lexsort((place[:, 3], place[:, 2], place[:, 0]))
        place, score = place[order], score[order]
        score = soft_nms(place, score, decoding.options)
    return decode_spans({"place": place, "score": score}, sentences, decoding)


def soft_nms(place: Integers, score: Floats, options: LocateLabelOptions) -> Floats:
    """The decayed scores: (P,). `place` (P, 4) is sorted by sentence, then by first word."""
    near = _near_spans(place, options.decay_iou)
    result = score.copy()
    # Only sentences with near spans take part, in batches of similar size that fit into one array.
    sentences, counts = np.unique(place[np.isin(place[:, 0], place[near[:, 0], 0]), 0], return_counts=True)
    for batch in _batches(sentences[np.argsort(counts, kind="stable")], np.sort(counts)):
        members = np.flatnonzero(np.isin(place[:, 0], batch))
        own = near[np.isin(place[near[:, 0], 0], batch)]
        result[members] = _soft_nms_of_batch(members, own, place[:, 0], score, options.decay)
    return result


def _near_spans(place: Integers, least: float) -> Integers:
    """Pairs of spans in one sentence with at least this IoU: (R, 2) indices.

    The later of the two starts within (1 - least) of the earlier one's length, so only such pairs are compared.
    """
    sentence, _, first, last = place.T
    start = sentence * (last.max(initial=0) + 1) + first  # (P,) rising
    reach = np.floor((1 - least) * (last - first + 1) + 1e-9).astype(np.int64)
    reach = np.minimum(reach, last - first)  # never into the next sentence
    behind = np.searchsorted(start, start + reach, side="right") - np.arange(len(place)) - 1  # (P,) partners that follow
    one = np.repeat(np.arange(len(place)), behind)
    other = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(behind) - behind, behind)
    shared = np.minimum(last[one], last[other]) - np.maximum(first[one], first[other]) + 1
    union = np.maximum(last[one], last[other]) - np.minimum(first[one], first[other]) + 1
    near: Integers = np.stack([one, other], axis=1)[shared >= least * union]
    return near


def _batches(sentences: Integers, counts: Integers) -> Iterator[Integers]:
    """Sentences, sorted by their number of spans, in batches whose (R, K, K) arrays stay small; a huge one is alone."""
    begin = 0
    for end in range(len(sentences)):
        if end > begin and (end + 1 - begin) * counts[end] ** 2 > LARGEST:
            yield sentences[begin:end]
            begin = end
    if begin < len(sentences):
        yield sentences[begin:]


def _soft_nms_of_batch(members: Integers, near: Integers, sentence: Integers, score: Floats, decay: float) -> Floats:
    """The decayed scores of the members, from padded arrays with one row for each of R sentences."""
    _, row = np.unique(sentence[members], return_inverse=True)
    counts = np.bincount(row)
    column = np.arange(len(members)) - (np.cumsum(counts) - counts)[row]
    left = np.full((len(counts), counts.max()), -np.inf)  # (R, K) scores of the spans not yet taken
    left[row, column] = score[members]
    is_near = np.zeros((*left.shape, left.shape[1]), dtype=np.bool_)  # (R, K, K)
    one, other = np.searchsorted(members, near).T
    is_near[row[one], column[one], column[other]] = is_near[row[one], column[other], column[one]] = True
    final, rows = left.copy(), np.arange(len(left))
    for _ in range(left.shape[1]):  # in all rows, the best span is taken and those near it lose score
        best = left.argmax(1)  # (R,) the first wins a tie
        taken = left[rows, best]
        final[rows, best] = np.where(np.isneginf(taken), final[rows, best], taken)  # -inf: this row is done
        left[rows, best] = -np.inf
        left = np.where(is_near[rows, best], left * decay, left)  # -inf stays
    return final[row, column]
