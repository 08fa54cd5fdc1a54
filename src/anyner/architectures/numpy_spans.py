"""The span classifier and the pairs of fragments in numpy, from the tables that their networks computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_FRAGMENTS = 32
"""Maximum number of fragments that a model pairs in one window; it keeps the best."""
Floats = NDArray[np.float32]
Integers = NDArray[np.int64]


def sigmoid(logits: Floats) -> Floats:
    with np.errstate(over="ignore"):  # of exp(-logit): the result is 0
        result: Floats = np.reciprocal(1 + np.exp(-logits))
    return result


def softmax(logits: Floats, axis: int) -> Floats:
    powers = np.exp(logits - logits.max(axis, keepdims=True))
    shares: Floats = powers / powers.sum(axis, keepdims=True)
    return shares


def likely_spans(probability: Floats, spans: NDArray[np.bool_], least: float) -> tuple[Integers, Floats]:
    """The `spans` (B, M, M) whose probability (B, C, M, M) reaches `least`: sentence, label, first and last word (P, 4), and
    probability (P,)."""
    likely = (probability >= least) & spans[:, None]
    return np.argwhere(likely), probability[likely]


class SpanMaxima:
    """The maximum over any span of words in two gathers, from a table made once in O(M log M)."""

    def __init__(self, words: Floats) -> None:
        """`words` (B, M, d)."""
        levels, step = [words], 1
        while 2 * step <= words.shape[1]:
            below = levels[-1]
            levels.append(np.concatenate([np.maximum(below[:, :-step], below[:, step:]), below[:, -step:]], axis=1))
            step *= 2
        self._table = np.stack(levels)  # (K, B, M, d)

    def of(self, sentence: Integers, first: Integers, last: Integers) -> Floats:
        """(N, d)"""
        level = np.frexp(last - first + 1)[1].astype(np.int64) - 1  # of the largest power of two within the span
        second = last + 1 - (1 << level)
        largest: Floats = np.maximum(self._table[level, sentence, first], self._table[level, sentence, second])
        return largest


def fragment_pairs(place: Integers, score: Floats, labels: int) -> Integers:
    """All pairs of fragments among proposed spans (P, 4), which are sentence, class, first and last word: (R, 6) sentence, label,
    and first and last word of both."""
    fragment = np.flatnonzero(place[:, 1] >= labels)  # (F,)
    fragment = fragment[np.lexsort((-score[fragment], place[fragment, 0]))]  # by sentence, the best first
    _, sentence = np.unique(place[fragment, 0], return_inverse=True)  # (F,) index among sentences with fragments
    rank = np.arange(len(fragment)) - np.searchsorted(sentence, sentence)  # (F,) in its sentence
    listed = rank < MOST_FRAGMENTS
    rows = np.full((sentence.max(initial=-1) + 1, MOST_FRAGMENTS), -1)  # (B, K)
    rows[sentence[listed], rank[listed]] = fragment[listed]
    _, kind, first, last = np.moveaxis(place[rows], 2, 0)  # (B, K) each; arbitrary for rows of -1
    paired = (kind[:, :, None] == kind[:, None]) & (last[:, :, None] + 1 < first[:, None])  # (B, K, K)
    paired &= (rows[:, :, None] >= 0) & (rows[:, None] >= 0)
    row, left, right = np.nonzero(paired)  # (R,) each
    one, other = rows[row, left], rows[row, right]  # (R,) each
    return np.column_stack([place[one, 0], place[one, 1] - labels, place[one, 2:], place[other, 2:]])


def best_fragments(probability: NDArray[Any], labels: int, least: float) -> tuple[Integers, Integers, NDArray[Any]]:
    """Spans that may be fragments, from probabilities (N, 2 C) of C labels and C fragment classes: (F,) index, class and
    probability."""
    own = probability[:, labels:]
    kind, best = own.argmax(1), own.max(1)  # (N,) each
    which = np.flatnonzero(best >= least)  # (F,)
    return which, kind[which] + labels, best[which]


def rescored(score: Floats, probability: Floats, share: float) -> Floats:
    """The weighted geometric mean of a head's score and the span classifier's probability."""
    mean: Floats = np.maximum(score, 0.0) ** (1 - share) * probability**share
    return mean


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Boundaries of N entities, and of their first and last fragments; a contiguous entity is both itself."""

    sentence: Integers  # (N,)
    first: Integers  # (N,)
    first_end: Integers  # (N,) the last word of the first fragment
    last_start: Integers  # (N,) the first word of the last fragment
    last: Integers  # (N,)

    @classmethod
    def of_words(cls, sentence: Integers, words: Integers, size: Integers) -> Boundaries:
        """From ascending words (N, W), of which the first `size` (N,) count; a size of 0 is read as 1."""
        row, steps = np.arange(len(words)), words.shape[1] - 1
        first, last = words[:, 0], words[row, np.maximum(size - 1, 0)]  # (N,) each
        if not steps:
            return cls(sentence, first, last, first, last)
        jumps = (words[:, 1:] > words[:, :-1] + 1) & (np.arange(steps) < size[:, None] - 1)  # (N, W - 1)
        before, after = jumps.argmax(1), steps - jumps[:, ::-1].argmax(1)  # before the first jump, after the last
        found = jumps.any(1)
        return cls(sentence, first, np.where(found, words[row, before], last), np.where(found, words[row, after], first), last)


@dataclass(frozen=True, slots=True)
class SpanClassifier:
    """The span classifier's output for a batch."""

    table: Floats  # (B, classes, M, M) logits of no entity, each label and, in some models, each label's discontinuous entities
    fragments: Floats | None  # (B, 2, M, M) logits of being a first, and a last, fragment
    labels: int

    @property
    def label_probabilities(self) -> Floats:
        """Probability of each label for all spans: (B, C, M, M)."""
        return softmax(self.table, 1)[:, 1 : self.labels + 1]

    def logits(self, sentence: Integers, first: Integers, last: Integers) -> Floats:
        """Logits (N, classes) of N spans."""
        chosen: Floats = self.table[sentence, :, first, last]
        return chosen

    def probabilities(self, entities: Boundaries) -> Floats:
        """Probability of each label for N entities: (N, C)."""
        classes = softmax(self.logits(entities.sentence, entities.first, entities.last), 1)[:, 1:]  # (N, C), or (N, 2 C)
        if classes.shape[1] == self.labels:
            return classes
        split = (entities.first_end != entities.last)[:, None]
        by_ends = np.where(split, classes[:, self.labels :], classes[:, : self.labels])
        if self.fragments is None:
            return by_ends
        first = self.fragments[entities.sentence, 0, entities.first, entities.first_end]  # (N,)
        last = self.fragments[entities.sentence, 1, entities.last_start, entities.last]  # (N,)
        by_fragments = np.exp((_log_sigmoid(first) + _log_sigmoid(last)) / 2)[:, None]  # (N, 1)
        return np.where(split, np.sqrt(by_ends * by_fragments), by_ends)

    def rescore(self, place: Integers, score: Floats, share: float) -> Floats:
        """New scores (P,) of contiguous entities; `place` (P, 4) is their sentence, label, first and last word."""
        sentence, label, first, last = place.T
        probability = self.probabilities(Boundaries(sentence, first, last, first, last))  # (P, C)
        return rescored(score, probability[np.arange(len(place)), label], share)

    def farthest(self, spans: NDArray[np.bool_], least: float) -> tuple[Integers, Integers]:
        """Last word of the longest contiguous and of the longest discontinuous candidate from each word on: (B, M) each.

        Candidates are `spans` (B, M, M) with a probability of at least `least`; -1 where there is none.
        """
        largest = self.table.max(1, keepdims=True)
        total = largest + np.log(np.exp(self.table - largest).sum(1, keepdims=True))
        likely = self.table - total >= np.float32(np.log(least))  # (B, classes, M, M)
        last = np.arange(self.table.shape[3])
        contiguous, discontinuous = (
            np.where(likely[:, classes].any(1) & spans, last, -1).max(2)
            for classes in (slice(1, self.labels + 1), slice(self.labels + 1, None))
        )
        return contiguous, discontinuous


def _log_sigmoid(logits: Floats) -> Floats:
    result: Floats = -np.logaddexp(np.float32(0), -logits)
    return result
