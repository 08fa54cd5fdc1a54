"""Training examples: windows with their gold entities and soft labels as arrays, and batches of them as `Gold`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from anyner.encoding.gold import WHOLE, Flags, Gold, GoldArrays, Integers, SoftLabels
from anyner.text.align import WordEntity
from anyner.text.windows import Window


@dataclass(frozen=True, slots=True)
class WindowSoftLabels:
    """The soft labels of one window, as arrays."""

    label: Integers
    first: Integers
    last: Integers
    contiguous: Flags
    thousandths: Integers
    weight: float
    covers_discontinuous: bool

    @classmethod
    def of(cls, entities: Sequence[WordEntity], labels: Sequence[str], weight: float, covers_discontinuous: bool = False) -> Self:
        """Of entities whose scores are probabilities; labels that the model does not have are left out."""
        number = {label: i for i, label in enumerate(labels)}
        known = [entity for entity in entities if entity.label in number]
        return cls(
            label=_integers(number[entity.label] for entity in known),
            first=_integers(entity.first for entity in known),
            last=_integers(entity.last for entity in known),
            contiguous=_flags(len(entity.fragments) == 1 for entity in known),
            thousandths=_integers(round(WHOLE * (entity.score or 0.0)) for entity in known),
            weight=weight,
            covers_discontinuous=covers_discontinuous,
        )

    def part(self, first: int, stop: int) -> WindowSoftLabels:
        """Those among the words from `first` to `stop`."""
        return replace(self, **_entities_within(self, first, stop, _PER_SOFT_LABEL))

    @classmethod
    def joined(cls, parts: Sequence[WindowSoftLabels], shifts: Sequence[int]) -> WindowSoftLabels:
        """Those of texts that follow each other, each shifted by so many words."""
        return replace(parts[0], **_entities_joined(parts, shifts, _PER_SOFT_LABEL))


@dataclass(frozen=True, slots=True)
class Example:
    """A window with its gold entities as arrays, made once before training."""

    window: Window
    label: Integers
    first: Integers
    last: Integers
    contiguous: Flags
    first_end: Integers
    last_start: Integers
    words: Integers
    sizes: Integers  # words of each entity
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
        number = {label: i for i, label in enumerate(labels)}
        words = [entity.word_indices for entity in entities]
        return cls(
            window=window,
            label=_integers(number[entity.label] for entity in entities),
            first=_integers(entity.first for entity in entities),
            last=_integers(entity.last for entity in entities),
            contiguous=_flags(len(entity.fragments) == 1 for entity in entities),
            first_end=_integers(entity.fragments[0][1] - 1 for entity in entities),
            last_start=_integers(entity.fragments[-1][0] for entity in entities),
            words=_integers(chain.from_iterable(words)),
            sizes=_integers(len(indices) for indices in words),
            annotated=_flags(annotated is None or label in annotated for label in labels),
            soft_labels=soft_labels,
        )

    def part(self, first: int, stop: int) -> Example:
        """The words from `first` to `stop` alone, with the entities that lie wholly among them."""
        kept = (self.first >= first) & (self.last < stop)
        return replace(
            self,
            window=self.window.part(first, stop),
            soft_labels=self.soft_labels and self.soft_labels.part(first, stop),
            words=self.words[np.repeat(kept, self.sizes)] - first,
            **_entities_within(self, first, stop, _PER_ENTITY),
        )

    @classmethod
    def joined(cls, examples: Sequence[Example], breaks: Sequence[bool]) -> Example:
        """One example of several consecutive ones; `breaks` says which of them start after a line break.

        All have soft labels of the same weight and coverage, or none has, and the same labels are annotated in all.
        """
        if len(examples) == 1:
            return examples[0]
        lengths = [len(example.window.words) for example in examples]
        shifts = list(accumulate(lengths[:-1], initial=0))
        held = [example.soft_labels for example in examples if example.soft_labels is not None]
        return replace(
            examples[0],
            window=Window.joined([example.window for example in examples], shifts, breaks),
            soft_labels=WindowSoftLabels.joined(held, shifts) if held else None,
            **_entities_joined(examples, shifts, (*_PER_ENTITY, "words")),
        )

    def without(self, words: Flags, unknown: int) -> Example:
        """The same example with all pieces of some words replaced by the unknown piece, and their features hidden."""
        pieces = [(unknown,) * len(own) if hidden else own for own, hidden in zip(self.window.pieces, words, strict=True)]
        hidden = frozenset(np.flatnonzero(words).tolist())
        return replace(self, window=replace(self.window, pieces=pieces, hidden=hidden))


_PER_SOFT_LABEL = ("label", "first", "last", "contiguous", "thousandths")
_PER_ENTITY = ("label", "first", "last", "contiguous", "first_end", "last_start", "sizes")
_PLACES = frozenset({"first", "last", "first_end", "last_start", "words"})


def _entities_within(held: Example | WindowSoftLabels, first: int, stop: int, names: Sequence[str]) -> dict[str, Any]:
    """Of the arrays of these names, what belongs to entities among these words."""
    kept = (held.first >= first) & (held.last < stop)
    found = {name: getattr(held, name)[kept] for name in names}
    return {name: array - first if name in _PLACES else array for name, array in found.items()}


def _entities_joined(
    held: Sequence[Example] | Sequence[WindowSoftLabels], shifts: Sequence[int], names: Sequence[str]
) -> dict[str, Any]:
    """The arrays of these names of texts that follow each other, each shifted by so many words."""

    def together(name: str) -> NDArray[Any]:
        arrays = [getattr(one, name) for one in held]
        if name in _PLACES:
            arrays = [array + shift for array, shift in zip(arrays, shifts, strict=True)]
        return np.concatenate(arrays)

    return {name: together(name) for name in names}


def _integers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, dtype=np.int64)


def _flags(values: Iterable[bool]) -> Flags:
    return np.fromiter(values, dtype=np.bool_)


def gold_of(examples: Sequence[Example]) -> Gold:
    counts = [len(example.label) for example in examples]
    sizes = np.concatenate([example.sizes for example in examples])
    host = GoldArrays(
        sentence=np.repeat(np.arange(len(examples)), counts),
        label=np.concatenate([example.label for example in examples]),
        first=np.concatenate([example.first for example in examples]),
        last=np.concatenate([example.last for example in examples]),
        words=np.concatenate([example.words for example in examples]),
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
    )
    return Gold(
        **{name: torch.from_numpy(getattr(host, name)) for name in GoldArrays.__slots__},
        contiguous=torch.from_numpy(np.concatenate([example.contiguous for example in examples])),
        first_end=torch.from_numpy(np.concatenate([example.first_end for example in examples])),
        last_start=torch.from_numpy(np.concatenate([example.last_start for example in examples])),
        annotated=torch.from_numpy(np.stack([example.annotated for example in examples])),
        counts=tuple(counts),
        host=host,
        soft_labels=_soft_labels_of(examples),
    )


def _soft_labels_of(examples: Sequence[Example]) -> SoftLabels | None:
    held = [(row, example.soft_labels) for row, example in enumerate(examples) if example.soft_labels is not None]
    if not held:
        return None
    parts = [part for _, part in held]
    covers = [example.soft_labels is not None and example.soft_labels.covers_discontinuous for example in examples]
    return SoftLabels(
        sentence=torch.from_numpy(np.repeat([row for row, _ in held], [len(part.label) for part in parts])),
        **{name: torch.from_numpy(np.concatenate([getattr(part, name) for part in parts])) for name in _PER_SOFT_LABEL},
        has_soft_labels=torch.tensor([example.soft_labels is not None for example in examples]),
        covers_discontinuous=torch.tensor(covers),
        soft_label_weight=parts[0].weight,
    )
