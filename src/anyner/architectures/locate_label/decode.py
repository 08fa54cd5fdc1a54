"""Proposals -> entities: thresholds, soft-NMS (Algorithm 1, equation 18) and the overlap policy. numpy only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyner.architectures.decode import decode_spans
from anyner.architectures.locate_label.config import EVERY_LENGTH, LocateLabelOptions
from anyner.architectures.settings import Decoding, least_span_score
from anyner.text.align import WordEntity

DECAY = 0.9
"""Factor on the score of a span that nearly equals a better one: the paper's u."""


def decode(proposals: Mapping[str, NDArray[Any]], sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence."""
    assert isinstance(decoding.options, LocateLabelOptions)
    # Scores only fall, and a span only lowers worse ones: what is below the threshold now cannot affect the others.
    kept = (proposals["place"][:, 1] >= 0) & (proposals["score"] >= least_span_score(decoding.thresholds))
    if "filter" in decoding.thresholds:
        kept &= proposals["filter"] >= decoding.thresholds["filter"]
    place, score = proposals["place"][kept], proposals["score"][kept].astype(np.float64)
    if decoding.options.soft_nms is not None:
        row = place[:, 0] + sentences * (place[:, 1] >= len(decoding.labels))  # entities and fragments do not compete
        order = np.lexsort((place[:, 3], place[:, 2], row))
        place, score = place[order], score[order]
        soft_nms(near_spans(np.column_stack([row[order], place[:, 1:]]), decoding.options.soft_nms), score)
    if "long" in decoding.thresholds:
        least = decoding.thresholds["score"]
        long = min(least, decoding.thresholds["long"])
        kept = score >= np.where(place[:, 3] - place[:, 2] < EVERY_LENGTH, least, long)
        kept |= place[:, 1] >= len(decoding.labels)  # fragments are filtered when they are joined
        place, score = place[kept], score[kept]
        decoding = replace(decoding, thresholds={**decoding.thresholds, "score": long})
    return decode_spans({**proposals, "place": place, "score": score}, sentences, decoding)


def soft_nms(near: NDArray[np.int64], score: NDArray[np.float64]) -> None:
    """Lowers the scores (P,) in place, for all sentences at once: spans of two sentences are never near each other."""
    rivals = defaultdict[int, set[int]](set)
    for one, other in near.tolist():
        rivals[one].add(other)
        rivals[other].add(one)
    left = [(-score[span], span) for span in rivals]  # best first; in a tie, the first in the text
    heapify(left)
    while left:
        minus, best = heappop(left)
        if -minus == score[best] and best in rivals:  # otherwise the entry is outdated: taken before, or lowered since
            for other in rivals.pop(best):
                if other in rivals:
                    score[other] *= DECAY
                    heappush(left, (-score[other], other))


def near_spans(place: NDArray[np.int64], least: float) -> NDArray[np.int64]:
    """Pairs of spans in one sentence with at least this IoU, as indices (R, 2) of spans sorted by sentence and first word.

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
    near: NDArray[np.int64] = np.stack([one, other], axis=1)[shared >= least * union]
    return near
