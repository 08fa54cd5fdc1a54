"""Targets of the decoder and the detector, made on the host so that nothing waits for the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyner.architectures.set_gner.config import Config
from anyner.layers.units import UnitEntities

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]

IGNORED = -100
NO_ENTITY, FRAGMENT, END = 0, 1, 2
"""Symbols after the labels: the answer of a unit outside all entities, that of a unit that is inside an entity but starts none,
and the end symbol if sequences are not constrained. The sentence's units are the symbols from `Config.symbols` on."""


@dataclass(frozen=True, slots=True)
class SequenceTargets:
    """N sequences sorted by sentence: decoder inputs, and the symbol that should follow each element.

    Inputs are indices of units in the sentence. If labels are inputs, too, they are negative: their symbol minus
    `Config.symbols`, so that one table holds both.
    """

    sentence: Integers  # (N,)
    inputs: Integers  # (N, T) padded with the first unit
    targets: Integers  # (N, T) padded with IGNORED


@dataclass(frozen=True, slots=True)
class Targets:
    entities: SequenceTargets
    """One per entity: its units, then its label."""
    others: SequenceTargets
    """One per unit that starts no entity: "fragment" or "no entity". Short, so a group of its own."""
    occurrences: Integers  # (B, U) number of entities that start at a unit, clipped
    parts: Floats  # (B, U, 3) whether a unit starts, ends, belongs to an entity


def targets_of(entities: UnitEntities, lengths: Sequence[int], labels: int, config: Config) -> Targets:
    """The targets of sentences with `lengths` units."""
    assert config.most_at_one_word is not None, "the settings were not fitted to a corpus"
    symbols = config.symbols(labels)
    shape, sizes = (len(lengths), max(lengths)), np.diff(entities.offsets)
    parts = np.zeros((*shape, 3), dtype=np.float32)
    parts[entities.sentence, entities.first, 0] = 1
    parts[entities.sentence, entities.last, 1] = 1
    parts[np.repeat(entities.sentence, sizes), entities.units, 2] = 1
    occurrences = np.zeros(shape, dtype=np.int64)
    np.add.at(occurrences, (entities.sentence, entities.first), 1)
    sentence, unit = ((parts[..., 0] == 0) & (np.arange(shape[1]) < np.array(lengths)[:, None])).nonzero()  # (N,) each
    answers = labels + np.where(parts[sentence, unit, 2] > 0, FRAGMENT, NO_ENTITY)
    end = None if config.constrained else labels + END
    of_entities = _sequences(entities.sentence, entities.units, sizes, entities.label, symbols=symbols, end=end)
    of_others = _sequences(sentence, unit, np.ones_like(unit), answers, symbols=symbols, end=end)
    return Targets(of_entities, of_others, np.minimum(occurrences, config.most_at_one_word), parts)


def _sequences(
    sentence: Integers, units: Integers, sizes: Integers, answers: Integers, *, symbols: int, end: int | None
) -> SequenceTargets:
    """Sequences of `sizes` (N,) of the units (W,) each, then an answer (N,), then the end symbol if there is one."""
    number, more = np.arange(len(sizes)), 1 if end is None else 2
    place = np.arange(sizes.max(initial=1) + more)
    elements = np.zeros((len(sizes), len(place)), dtype=np.int64)
    elements[place < sizes[:, None]] = units
    elements[number, sizes] = answers - symbols
    if end is not None:
        elements[number, sizes + 1] = end - symbols
    targets = np.where(place[1:] < sizes[:, None] + more, elements[:, 1:] + symbols, IGNORED)
    return SequenceTargets(sentence, np.where(targets == IGNORED, elements[:, :1], elements[:, :-1]), targets)
