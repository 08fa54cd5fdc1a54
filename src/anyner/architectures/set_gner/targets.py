"""What the decoder learns to write, and what the detector learns of every unit. On the host: nothing waits for the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyner.encoding.gold import GoldArrays, only_groups
from anyner.text.windows import Window

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float32]

IGNORED = -100
SPECIAL = 2
"""Symbols between the labels and the units: "no entity" and "fragment"."""


def no_entity(labels: int) -> int:
    """The symbol of a word outside all entities; labels are 0 to `labels` - 1."""
    return labels


def fragment(labels: int) -> int:
    """The symbol of a word inside some entity that begins none."""
    return labels + 1


def unit_symbol(labels: int) -> int:
    """The symbol of a sentence's unit 0; the others follow."""
    return labels + SPECIAL


@dataclass(frozen=True, slots=True)
class UnitEntities:
    """Entities of a batch in units, sentence by sentence: entity e has `units[offsets[e] : offsets[e + 1]]`, rising."""

    sentence: Integers  # (E,)
    label: Integers  # (E,)
    units: Integers  # (W,)
    offsets: Integers  # (E + 1,)

    @classmethod
    def in_words(cls, gold: GoldArrays) -> UnitEntities:
        return cls(gold.sentence, gold.label, gold.words, gold.offsets)

    @classmethod
    def in_pieces(cls, gold: GoldArrays, windows: Sequence[Window]) -> UnitEntities:
        """Each word by all of its pieces, counted from the first piece of the window's first word."""
        sizes = [np.array([len(pieces) for pieces in window.pieces]) for window in windows]
        starts = [np.cumsum(own) - own for own in sizes]
        sentence_of = np.repeat(gold.sentence, np.diff(gold.offsets))  # (W,)
        spelt = [
            np.arange(starts[sentence][word], starts[sentence][word] + sizes[sentence][word])
            for sentence, word in zip(sentence_of.tolist(), gold.words.tolist(), strict=True)
        ]
        lengths = np.array([len(own) for own in spelt], dtype=np.int64)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        units = np.concatenate(spelt) if spelt else np.zeros(0, dtype=np.int64)
        return cls(gold.sentence, gold.label, units, ends[gold.offsets])

    def mirrored(self, lengths: Sequence[int]) -> UnitEntities:
        """The same in sentences read from the end: what was last comes first."""
        sizes = np.diff(self.offsets)
        sentence_of = np.repeat(self.sentence, sizes)  # (W,)
        entity_of = np.repeat(np.arange(len(sizes)), sizes)
        number = np.arange(len(self.units)) - self.offsets[entity_of]
        turned = self.offsets[entity_of] + sizes[entity_of] - 1 - number  # (W,) where the units come from
        return UnitEntities(self.sentence, self.label, np.array(lengths)[sentence_of] - 1 - self.units[turned], self.offsets)

    def only(self, kept: Flags) -> UnitEntities:
        """Those of the entities (E,) that are kept."""
        return UnitEntities(self.sentence[kept], self.label[kept], *only_groups(self.units, self.offsets, kept))

    @property
    def first(self) -> Integers:
        return self.units[self.offsets[:-1]]

    @property
    def last(self) -> Integers:
        return self.units[self.offsets[1:] - 1]


@dataclass(frozen=True, slots=True)
class RowTargets:
    """N rows in the order of their sentences: units that go in, and the symbol that should follow each of them."""

    counts: tuple[int, ...]
    """Rows of each sentence."""
    sentence: Integers  # (N,)
    units: Integers  # (N, T) what is not there is the row's first unit
    symbols: Integers  # (N, T) IGNORED where nothing is


@dataclass(frozen=True, slots=True)
class Targets:
    entities: RowTargets
    """A row for each entity: its units, then its label."""
    others: RowTargets
    """A row of one unit for each unit that begins no entity: "fragment" or "no entity"."""
    occurrences: Integers  # (B, U) entities that begin at a unit, clipped
    parts: Floats  # (B, U, 3) whether a unit begins, ends, belongs to some entity


def targets_of(entities: UnitEntities, lengths: Sequence[int], labels: int, most: int, kept: Flags | None = None) -> Targets:
    """The targets of sentences of so many units. `kept` (B, U): the units outside entities that learn so; default: all."""
    sentences, width = len(lengths), max(lengths)
    sizes = np.diff(entities.offsets)
    parts = np.zeros((sentences, width, 3), dtype=np.float32)
    parts[entities.sentence, entities.first, 0] = 1
    parts[entities.sentence, entities.units[entities.offsets[1:] - 1], 1] = 1
    parts[np.repeat(entities.sentence, sizes), entities.units, 2] = 1
    begun = np.zeros((sentences, width), dtype=np.int64)
    np.add.at(begun, (entities.sentence, entities.first), 1)
    return Targets(
        entities=_entity_rows(entities, sizes, sentences, labels),
        others=_other_rows(parts, np.array(lengths), labels, kept),
        occurrences=np.minimum(begun, most),
        parts=parts,
    )


def _entity_rows(entities: UnitEntities, sizes: Integers, sentences: int, labels: int) -> RowTargets:
    number = np.arange(sizes.max(initial=1))
    here = number < sizes[:, None]  # (E, T)
    units = np.broadcast_to(entities.first[:, None], here.shape).copy()
    units[here] = entities.units
    symbols = np.full(here.shape, IGNORED, dtype=np.int64)
    symbols[:, :-1][here[:, 1:]] = units[:, 1:][here[:, 1:]] + unit_symbol(labels)
    symbols[np.arange(len(sizes)), sizes - 1] = entities.label
    counts = np.bincount(entities.sentence, minlength=sentences)
    return RowTargets(tuple(counts.tolist()), entities.sentence, units, symbols)


def _other_rows(parts: Floats, lengths: Integers, labels: int, kept: Flags | None) -> RowTargets:
    begins, belongs = parts[..., 0] > 0, parts[..., 2] > 0  # (B, U) each
    chosen = ~begins & (np.arange(parts.shape[1]) < lengths[:, None])
    if kept is not None:
        chosen &= belongs | kept
    sentence, unit = chosen.nonzero()
    symbols = np.where(belongs[sentence, unit], fragment(labels), no_entity(labels))
    return RowTargets(tuple(chosen.sum(1).tolist()), sentence, unit[:, None], symbols[:, None])
