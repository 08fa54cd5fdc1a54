"""What the decoder learns to generate, and what the detector learns of every unit. On the host: nothing waits for the device."""

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
"""Symbols behind the labels: the answer of a unit outside all entities, that of a unit inside some entity that begins none, and
the end symbol where sequences are not constrained. The units of the sentence are the symbols from `Config.symbols` on."""


@dataclass(frozen=True, slots=True)
class SequenceTargets:
    """N sequences in the order of their sentences: what the decoder reads, and the symbol that should follow each element.

    Inputs are units by their number in the sentence; where labels are read, too, these are below zero: their symbol minus
    `Config.symbols`, so that one table holds both.
    """

    sentence: Integers  # (N,)
    inputs: Integers  # (N, T) padded with the first unit
    targets: Integers  # (N, T) padded with IGNORED

    def with_end(self, labels: int, symbols: int) -> SequenceTargets:
        """The last target is read as well, and the end symbol follows it."""
        number, size = np.arange(len(self.sentence)), (self.targets != IGNORED).sum(1)
        inputs = np.concatenate([self.inputs, self.inputs[:, :1]], axis=1)
        targets = np.pad(self.targets, ((0, 0), (0, 1)), constant_values=IGNORED)
        inputs[number, size] = self.targets[number, size - 1] - symbols
        targets[number, size] = labels + END
        return SequenceTargets(self.sentence, inputs, targets)


@dataclass(frozen=True, slots=True)
class Targets:
    entities: SequenceTargets
    """One for each entity: its units, then its label."""
    others: SequenceTargets
    """One for each unit that begins no entity: "fragment" or "no entity". Short, so a group of its own."""
    occurrences: Integers  # (B, U) entities that begin at a unit, clipped
    parts: Floats  # (B, U, 3) whether a unit begins, ends, belongs to some entity


def targets_of(entities: UnitEntities, lengths: Sequence[int], labels: int, config: Config) -> Targets:
    """The targets of sentences of so many units."""
    assert config.most_at_one_word is not None, "the settings were not fitted to a corpus"
    symbols = config.symbols(labels)
    shape = (len(lengths), max(lengths))
    parts = np.zeros((*shape, 3), dtype=np.float32)
    parts[entities.sentence, entities.first, 0] = 1
    parts[entities.sentence, entities.last, 1] = 1
    parts[np.repeat(entities.sentence, np.diff(entities.offsets)), entities.units, 2] = 1
    occurrences = np.zeros(shape, dtype=np.int64)
    np.add.at(occurrences, (entities.sentence, entities.first), 1)
    groups = _entity_sequences(entities, symbols), _other_sequences(parts, np.array(lengths), labels)
    of_entities, of_others = groups if config.constrained else (group.with_end(labels, symbols) for group in groups)
    return Targets(of_entities, of_others, np.minimum(occurrences, config.most_at_one_word), parts)


def _entity_sequences(entities: UnitEntities, symbols: int) -> SequenceTargets:
    sizes = np.diff(entities.offsets)
    real = np.arange(sizes.max(initial=1)) < sizes[:, None]  # (E, T)
    inputs = np.broadcast_to(entities.first[:, None], real.shape).copy()
    inputs[real] = entities.units
    targets = np.full(real.shape, IGNORED, dtype=np.int64)
    targets[:, :-1][real[:, 1:]] = inputs[:, 1:][real[:, 1:]] + symbols
    targets[np.arange(len(sizes)), sizes - 1] = entities.label
    return SequenceTargets(entities.sentence, inputs, targets)


def _other_sequences(parts: Floats, lengths: Integers, labels: int) -> SequenceTargets:
    begins, belongs = parts[..., 0] > 0, parts[..., 2] > 0  # (B, U) each
    sentence, unit = (~begins & (np.arange(parts.shape[1]) < lengths[:, None])).nonzero()
    targets = labels + np.where(belongs[sentence, unit], FRAGMENT, NO_ENTITY)
    return SequenceTargets(sentence, unit[:, None], targets[:, None])
