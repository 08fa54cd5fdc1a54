"""Targets of each block, made on the host so that nothing waits for the device."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from anyner.architectures.nag_ner.config import END, FIRST_UNIT, MORE
from anyner.encoding.gold import GoldArrays
from anyner.layers.contiguous import number_in_sentence
from anyner.layers.units import UnitEntities, WordUnits

Integers = NDArray[np.int64]

IGNORED = -100


@dataclass(frozen=True, slots=True)
class BlockTargets:
    """P blocks, one per entity, sentence by sentence. Rank n of a word is its entity with the n-th shortest span."""

    sentence: Integers  # (P,)
    word: Integers  # (P,) where the entity starts
    rank: Integers  # (P,)
    label: Integers  # (P,)
    last: Integers  # (P,) last word
    symbols: Integers  # (P, longest + 1) units, then END or MORE, then IGNORED
    starts: Integers  # (B, M) entities that start at each word, at most `most`


def block_targets(gold: GoldArrays, units: WordUnits, longest: int, most: int) -> BlockTargets:
    """Ranks are by span length; ties by number of words, then by words, then by label (equation 5)."""
    words = [gold.words[begin:end].tolist() for begin, end in pairwise(gold.offsets.tolist())]
    spans, counts = gold.last - gold.first, np.diff(gold.offsets)
    keys = list(zip(gold.sentence, gold.first, spans, counts, words, gold.label, strict=True))
    order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)  # (E,)
    start = (gold.sentence * units.size.shape[1] + gold.first)[order]
    starts = np.bincount(start, minlength=units.size.size).reshape(units.size.shape)
    rank = number_in_sentence(start, units.size.size)
    kept = order[rank < most]  # (P,)
    in_units, position = UnitEntities.of(gold, units), np.arange(longest + 1)
    size = np.diff(in_units.offsets)[kept, None]  # (P, 1)
    own = FIRST_UNIT + in_units.units[np.minimum(in_units.offsets[kept, None] + position, len(in_units.units) - 1)]
    cases = [position < np.minimum(size, longest), position == size, (position == longest) & (size > longest)]
    symbols = np.select(cases, [own, END, MORE], IGNORED)  # (P, longest + 1)
    at = (gold.sentence[kept], gold.first[kept], rank[rank < most], gold.label[kept], gold.last[kept])
    return BlockTargets(*at, symbols, np.minimum(starts, most))
