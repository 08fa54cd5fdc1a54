"""The contiguous entities of a batch, on the host, for heads that predict spans."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyner.encoding.gold import GoldArrays

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EntityRows:
    """Entities padded to one row per sentence; G is the largest number of entities in a sentence."""

    first: Integers  # (B, G)
    last: Integers  # (B, G) inclusive
    label: Integers  # (B, G)
    counts: Integers  # (B,)


@dataclass(frozen=True, slots=True)
class Entities:
    """Entities in one flat list, sorted by sentence."""

    sentence: Integers  # (E,)
    label: Integers  # (E,)
    first: Integers  # (E,)
    last: Integers  # (E,) inclusive

    @classmethod
    def of(cls, gold: GoldArrays) -> Entities:
        contiguous = gold.last - gold.first + 1 == np.diff(gold.offsets)
        return cls(gold.sentence[contiguous], gold.label[contiguous], gold.first[contiguous], gold.last[contiguous])

    def rows(self, sentences: int, fill: int = 0) -> EntityRows:
        """The same padded to one row per sentence; padding has `fill` as its words and label."""
        counts = np.bincount(self.sentence, minlength=sentences)
        rows = np.full((3, sentences, max(1, counts.max(initial=0))), fill, dtype=np.int64)
        rows[:, self.sentence, number_in_sentence(self.sentence, sentences)] = self.first, self.last, self.label
        return EntityRows(rows[0], rows[1], rows[2], counts)


def number_in_sentence(sentence: Integers, sentences: int) -> Integers:
    """The index of each item within its sentence: (N,). Items must be sorted by sentence."""
    counts = np.bincount(sentence, minlength=sentences)
    return np.arange(len(sentence)) - (np.cumsum(counts) - counts)[sentence]
