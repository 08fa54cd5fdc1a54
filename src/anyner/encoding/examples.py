"""Training examples: windows with their gold entities and soft labels as arrays, and batches of them as `Gold`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import Self

import numpy as np
import torch

from anyner.encoding.gold import WHOLE, Flags, Gold, GoldArrays, Integers, SoftLabels, only_groups
from anyner.text.align import WordEntity
from anyner.text.windows import Window


@dataclass(frozen=True, slots=True)
class Entities:
    """The entities of a window, flat: entity e has the next `sizes[e]` of the words."""

    label: Integers  # (E,)
    sizes: Integers  # (E,) words of each entity, at least one
    words: Integers  # (W,) in the window, ascending in each entity
    thousandths: Integers  # (E,) probability of each

    @classmethod
    def of(cls, entities: Sequence[WordEntity], labels: Sequence[str]) -> Self:
        """Entities with labels that the model does not have are left out."""
        number = {label: i for i, label in enumerate(labels)}
        known = [(entity, entity.word_indices) for entity in entities if entity.label in number]
        return cls(
            label=_integers(number[entity.label] for entity, _ in known),
            sizes=_integers(len(words) for _, words in known),
            words=_integers(chain.from_iterable(words for _, words in known)),
            thousandths=_integers(round(WHOLE * (entity.score or 0.0)) for entity, _ in known),
        )

    @property
    def offsets(self) -> Integers:
        """Start of each entity in `words`, and the end of the last: (E + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @property
    def first(self) -> Integers:
        return self.words[self.offsets[:-1]]

    @property
    def last(self) -> Integers:
        """Index of the last word, inclusive."""
        return self.words[self.offsets[1:] - 1]

    @property
    def contiguous(self) -> Flags:
        return self.last - self.first + 1 == self.sizes  # type: ignore[no-any-return]

    def part(self, first: int, stop: int) -> Entities:
        """The entities that lie entirely in the words `[first, stop)`."""
        kept = (self.first >= first) & (self.last < stop)
        words, _ = only_groups(self.words, self.offsets, kept)
        return Entities(self.label[kept], self.sizes[kept], words - first, self.thousandths[kept])

    @classmethod
    def joined(cls, parts: Sequence[Entities], shifts: Sequence[int]) -> Entities:
        """The entities of consecutive texts, each shifted by a number of words."""
        return cls(
            label=np.concatenate([part.label for part in parts]),
            sizes=np.concatenate([part.sizes for part in parts]),
            words=np.concatenate([part.words + shift for part, shift in zip(parts, shifts, strict=True)]),
            thousandths=np.concatenate([part.thousandths for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class WindowSoftLabels:
    """The soft labels of one window."""

    entities: Entities
    weight: float
    covers_discontinuous: bool

    @classmethod
    def of(cls, entities: Sequence[WordEntity], labels: Sequence[str], weight: float, covers_discontinuous: bool = False) -> Self:
        """From entities whose scores are probabilities."""
        return cls(Entities.of(entities, labels), weight, covers_discontinuous)


@dataclass(frozen=True, slots=True)
class Example:
    """A window with its gold entities as arrays, made once before training."""

    window: Window
    entities: Entities
    annotated: Flags  # (C,)
    soft_labels: WindowSoftLabels | None = None
    times: int = 1
    """How often it is seen in an epoch."""
    source: str | None = None
    """The document that it is a part of, if known."""

    @classmethod
    def of(
        cls,
        window: Window,
        entities: Sequence[WordEntity],
        labels: Sequence[str],
        annotated: frozenset[str] | None,
        soft_labels: WindowSoftLabels | None = None,
    ) -> Self:
        flags = np.array([annotated is None or label in annotated for label in labels], dtype=np.bool_)
        return cls(window, Entities.of(entities, labels), flags, soft_labels)

    def part(self, first: int, stop: int) -> Example:
        """The words `[first, stop)` alone, with the entities that lie entirely in them."""
        soft = self.soft_labels
        return replace(
            self,
            window=self.window.part(first, stop),
            entities=self.entities.part(first, stop),
            soft_labels=soft and replace(soft, entities=soft.entities.part(first, stop)),
        )

    @classmethod
    def joined(cls, examples: Sequence[Example], breaks: Sequence[bool]) -> Example:
        """One example from several consecutive ones; `breaks` says which of them start after a line break.

        All or none must have soft labels, of the same weight and coverage, and the same labels must be annotated in all.
        """
        if len(examples) == 1:
            return examples[0]
        lengths = [len(example.window.words) for example in examples]
        shifts = list(accumulate(lengths[:-1], initial=0))
        soft = [example.soft_labels for example in examples if example.soft_labels is not None]
        return replace(
            examples[0],
            window=Window.joined([example.window for example in examples], shifts, breaks),
            entities=Entities.joined([example.entities for example in examples], shifts),
            soft_labels=replace(soft[0], entities=Entities.joined([one.entities for one in soft], shifts)) if soft else None,
        )

    def without(self, words: Flags, unknown: int) -> Example:
        """The same example with all pieces of some words replaced by the unknown piece, and their shapes hidden."""
        pieces = [(unknown,) * len(own) if hidden else own for own, hidden in zip(self.window.pieces, words, strict=True)]
        hidden = frozenset(np.flatnonzero(words).tolist())
        return replace(self, window=replace(self.window, pieces=pieces, hidden=hidden))


def _integers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, dtype=np.int64)


def gold_of(examples: Sequence[Example]) -> Gold:
    counts = [len(example.entities.label) for example in examples]
    held = Entities.joined([example.entities for example in examples], [0] * len(examples))
    sentence = np.repeat(np.arange(len(examples)), counts)
    host = GoldArrays(sentence, held.label, held.first, held.last, held.words, held.offsets)
    first_end, last_start = _inner_bounds(held)
    annotated = np.stack([example.annotated for example in examples])  # (B, C)
    return Gold(
        **{name: torch.from_numpy(getattr(host, name)) for name in GoldArrays.__slots__},
        contiguous=torch.from_numpy(held.contiguous),
        first_end=torch.from_numpy(first_end),
        last_start=torch.from_numpy(last_start),
        annotated=torch.from_numpy(annotated),
        all_annotated=bool(annotated.all()),
        counts=tuple(counts),
        host=host,
        soft_labels=_soft_labels_of(examples),
    )


def _inner_bounds(held: Entities) -> tuple[Integers, Integers]:
    """Last word of each entity's first fragment, and first word of its last fragment: (E,) each."""
    words, offsets = held.words, held.offsets
    begins = np.diff(words, prepend=-1) != 1  # (W,) a fragment, or an entity, begins here
    begins[offsets[:-1]] = True
    starts = np.flatnonzero(begins)
    stops = np.append(starts[1:], len(words))
    first, last = np.searchsorted(starts, offsets[:-1]), np.searchsorted(starts, offsets[1:]) - 1
    return words[stops[first] - 1], words[starts[last]]


def _soft_labels_of(examples: Sequence[Example]) -> SoftLabels | None:
    soft = [(row, example.soft_labels) for row, example in enumerate(examples) if example.soft_labels is not None]
    if not soft:
        return None
    held = Entities.joined([one.entities for _, one in soft], [0] * len(soft))
    covers = [example.soft_labels is not None and example.soft_labels.covers_discontinuous for example in examples]
    return SoftLabels(
        sentence=torch.from_numpy(np.repeat([row for row, _ in soft], [len(one.entities.label) for _, one in soft])),
        **{n: torch.from_numpy(getattr(held, n)) for n in ("label", "first", "last", "contiguous", "thousandths")},
        has_soft_labels=torch.tensor([example.soft_labels is not None for example in examples]),
        covers_discontinuous=torch.tensor(covers),
        soft_label_weight=soft[0][1].weight,
        labels=len(examples[0].annotated),
    )
