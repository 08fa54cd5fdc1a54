"""What each block should write. On the host: nothing waits for the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyner.encoding.gold import GoldArrays
from anyner.layers.contiguous import number_in_sentence
from anyner.text.windows import Window

Integers = NDArray[np.int64]

IGNORED = -100
ENDS, GOES_ON = -1, -2
"""What follows the units of a block: the end, or units that do not fit."""


@dataclass(frozen=True, slots=True)
class UnitsOfWords:
    """The units (words, or pieces) of every word of a batch: word w of sentence b has `size[b, w]` from `first[b, w]` on."""

    first: Integers  # (B, M)
    size: Integers  # (B, M)
    lengths: tuple[int, ...]
    """Units of each sentence."""

    @classmethod
    def words(cls, windows: Sequence[Window]) -> UnitsOfWords:
        longest = max(len(window.pieces) for window in windows)
        every = np.tile(np.arange(longest), (len(windows), 1))
        return cls(every, np.ones_like(every), tuple(len(window.pieces) for window in windows))

    @classmethod
    def pieces(cls, windows: Sequence[Window]) -> UnitsOfWords:
        longest = max(len(window.pieces) for window in windows)
        size = np.ones((len(windows), longest), dtype=np.int64)
        for row, window in zip(size, windows, strict=True):
            row[: len(window.pieces)] = [len(pieces) for pieces in window.pieces]
        first = np.cumsum(size, axis=1) - size
        counts = [len(window.pieces) for window in windows]
        return cls(first, size, tuple(int(size[b, :count].sum()) for b, count in enumerate(counts)))


@dataclass(frozen=True, slots=True)
class BlockTargets:
    """P blocks of entities, sentence by sentence: rank n of a word is its entity with the n-th shortest reach."""

    sentence: Integers  # (P,)
    word: Integers  # (P,) where it begins
    rank: Integers  # (P,)
    label: Integers  # (P,)
    units: Integers  # (P, longest + 1) then ENDS or GOES_ON, then IGNORED
    last: Integers  # (P,) last word
    starts: Integers  # (B, M) entities that begin at each word, clipped


def targets_of(gold: GoldArrays, units: UnitsOfWords, longest: int, most: int) -> BlockTargets:
    sizes = np.diff(gold.offsets)
    order = ranked(gold)
    begun = number_in_sentence(_joined(gold.sentence[order], gold.first[order]), len(gold.sentence)) if len(order) else order
    kept = order[begun < most]
    rank = begun[begun < most]
    written = np.full((len(kept), longest + 1), IGNORED, dtype=np.int64)
    for row, entity in zip(written, kept.tolist(), strict=True):
        sentence, words = gold.sentence[entity], gold.words[gold.offsets[entity] : gold.offsets[entity] + sizes[entity]]
        first, size = units.first[sentence, words], units.size[sentence, words]
        own = np.concatenate([np.arange(begin, begin + count) for begin, count in zip(first, size, strict=True)])
        row[: min(len(own), longest)] = own[:longest]
        row[min(len(own), longest)] = ENDS if len(own) <= longest else GOES_ON
    starts = np.zeros(units.first.shape, dtype=np.int64)
    np.add.at(starts, (gold.sentence, gold.first), 1)
    return BlockTargets(
        sentence=gold.sentence[kept],
        word=gold.first[kept],
        rank=rank,
        label=gold.label[kept],
        units=written,
        last=gold.last[kept],
        starts=np.minimum(starts, most),
    )


def stretches(lengths: Sequence[int], chosen: NDArray[np.bool_], most: int) -> GoldArrays:
    """As if at every chosen word (B, M) stretches of 1, 2 … `most` words began, as many as the sentence has room for."""
    spans = [
        (sentence, word, word + more)
        for sentence, length in enumerate(lengths)
        for word in np.flatnonzero(chosen[sentence, :length]).tolist()
        for more in range(min(most, length - word))
    ]
    sentence, first, last = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    words = [np.arange(begin, end + 1) for _, begin, end in spans]
    return GoldArrays(
        sentence=sentence,
        label=np.zeros_like(sentence),
        first=first,
        last=last,
        words=np.concatenate(words) if words else np.zeros(0, dtype=np.int64),
        offsets=np.concatenate([[0], np.cumsum(last - first + 1)]).astype(np.int64),
    )


def ranked(gold: GoldArrays) -> Integers:
    """Entities by sentence, first word, reach, number of words, words, label: of equal reach the fewer words come first."""
    words = [tuple(gold.words[begin:end].tolist()) for begin, end in zip(gold.offsets[:-1], gold.offsets[1:], strict=True)]
    keys = zip(
        gold.sentence.tolist(), gold.first.tolist(), (gold.last - gold.first).tolist(), words, gold.label.tolist(), strict=True
    )
    sortable = [(sentence, first, reach, len(own), own, label) for sentence, first, reach, own, label in keys]
    return np.array(sorted(range(len(sortable)), key=sortable.__getitem__), dtype=np.int64)


def _joined(sentence: Integers, first: Integers) -> Integers:
    """One number for each different pair, rising with them."""
    return np.unique(np.stack([sentence, first], axis=1), axis=0, return_inverse=True)[1].reshape(-1)
