"""What each block should generate. On the host: nothing waits for the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from anyner.encoding.gold import GoldArrays
from anyner.text.windows import Window

Integers = NDArray[np.int64]

IGNORED = -100
END, MORE, FIRST_UNIT = 0, 1, 2
"""Symbols: the end; more than fits into the block; from `FIRST_UNIT` on the units (words or pieces) of the sentence."""


@dataclass(frozen=True, slots=True)
class WordUnits:
    """The units (words or pieces) of every word of a batch: word w of sentence b has `size[b, w]` from `first[b, w]` on."""

    first: Integers  # (B, M)
    size: Integers  # (B, M)

    @classmethod
    def of(cls, windows: Sequence[Window], *, pieces: bool) -> WordUnits:
        size = np.ones((len(windows), max(len(window.pieces) for window in windows)), dtype=np.int64)
        for row, window in zip(size, windows, strict=True):
            if pieces:
                row[: len(window.pieces)] = [len(own) for own in window.pieces]
        return cls(np.cumsum(size, axis=1) - size, size)

    def spelled(self, sentence: int, words: Sequence[int]) -> list[int]:
        """The units of some words of a sentence, one after the other."""
        firsts, sizes = self.first[sentence, words].tolist(), self.size[sentence, words].tolist()
        return [first + number for first, size in zip(firsts, sizes, strict=True) for number in range(size)]


@dataclass(frozen=True, slots=True)
class BlockTargets:
    """P blocks, one for each entity, sentence by sentence. Rank n at a word: the entity that has the n-th shortest span."""

    sentence: Integers  # (P,)
    word: Integers  # (P,) where the entity starts
    rank: Integers  # (P,)
    label: Integers  # (P,)
    last: Integers  # (P,) last word
    symbols: Integers  # (P, longest + 1) units, then END or MORE, then IGNORED
    starts: Integers  # (B, M) entities that start at each word, at most `most`


def block_targets(gold: GoldArrays, units: WordUnits, longest: int, most: int) -> BlockTargets:
    """Ranks are by span length; ties go to fewer words, then to earlier words, then to the label (equation 5)."""
    words = [tuple(gold.words[begin:end].tolist()) for begin, end in pairwise(gold.offsets.tolist())]
    entities = zip(gold.sentence.tolist(), words, gold.label.tolist(), strict=True)
    ordered = sorted((sentence, own[0], own[-1] - own[0], len(own), own, label) for sentence, own, label in entities)
    starts = np.zeros(units.first.shape, dtype=np.int64)
    blocks, symbols = [], []
    for sentence, word, _, _, own, label in ordered:
        rank = int(starts[sentence, word])
        if rank == most:
            continue
        starts[sentence, word] += 1
        blocks.append((sentence, word, rank, label, own[-1]))
        spelled = [FIRST_UNIT + unit for unit in units.spelled(sentence, own)]
        row = [*spelled, END] if len(spelled) <= longest else [*spelled[:longest], MORE]
        symbols.append(row + [IGNORED] * (longest + 1 - len(row)))
    sentences, at, ranks, labels, last = np.array(blocks, dtype=np.int64).reshape(-1, 5).T
    rows = np.array(symbols, dtype=np.int64).reshape(-1, longest + 1)
    return BlockTargets(sentences, at, ranks, labels, last, rows, starts)
