"""What a training batch is to learn: its gold entities, and what other models hold for entities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anyner.text.align import WordEntity
from anyner.text.windows import Window

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
_WHOLE = 1000


@dataclass(frozen=True, slots=True)
class GoldArrays:
    """The same entities on the host, for targets and sizes that must not wait for the device."""

    sentence: Integers
    label: Integers
    first: Integers
    last: Integers
    words: Integers
    offsets: Integers

    def only(self, kept: Flags) -> GoldArrays:
        """Those of the entities (E,) that are kept."""
        words, offsets = only_groups(self.words, self.offsets, kept)
        return GoldArrays(self.sentence[kept], self.label[kept], self.first[kept], self.last[kept], words, offsets)

    def with_others(self, others: GoldArrays) -> GoldArrays:
        """These and others, sentence by sentence."""
        joined = {
            name: np.concatenate([getattr(self, name), getattr(others, name)]) for name in ("sentence", "label", "first", "last")
        }
        order = np.argsort(joined["sentence"], kind="stable")
        words = np.concatenate([self.words, others.words])
        starts = np.concatenate([self.offsets[:-1], others.offsets[:-1] + len(self.words)])[order]  # (E,) where their words begin
        sizes = np.concatenate([np.diff(self.offsets), np.diff(others.offsets)])[order]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        place = np.arange(len(words)) + np.repeat(starts - offsets[:-1], sizes)  # (W,) where each word comes from
        return GoldArrays(**{name: values[order] for name, values in joined.items()}, words=words[place], offsets=offsets)


def only_groups(values: Integers, offsets: Integers, kept: Flags) -> tuple[Integers, Integers]:
    """Of groups of values, flat, those that are kept, and where they begin then."""
    sizes = np.diff(offsets)
    return values[np.repeat(kept, sizes)], np.concatenate([[0], np.cumsum(sizes[kept])])


@dataclass(frozen=True, slots=True)
class HeldArrays:
    """What other models hold for entities on the host, with their words."""

    entities: GoldArrays
    likely: Floats  # (O,)
    heard: Flags  # (B,)
    know_gaps: Flags  # (B,)


@dataclass(frozen=True, slots=True)
class Opinions:
    """What other models hold for entities: targets beside the gold of whatever scores every span."""

    sentence: Tensor  # (O,)
    label: Tensor  # (O,)
    first: Tensor  # (O,)
    last: Tensor  # (O,)
    contiguous: Tensor  # (O,) bool
    thousandths: Tensor  # (O,) how likely each is an entity; whole numbers travel to the device with all others
    heard: Tensor  # (B,) bool: there is an opinion on this sentence
    share: float
    """The part of the target that is opinion where there is one."""
    know_gaps: Tensor  # (B,) bool: they can hold that an entity has gaps; if not, they say nothing where gold has one
    host: HeldArrays

    @property
    def likely(self) -> Tensor:
        return self.thousandths / _WHOLE  # (O,)

    @property
    def weight(self) -> Tensor:
        """Of the opinion on each sentence: (B,)."""
        return self.heard * self.share


@dataclass(frozen=True, slots=True)
class Gold:
    """Entities of a batch in words, flat: entity e lies in `sentence[e]`, its words are `words[offsets[e] : offsets[e + 1]]`."""

    sentence: Tensor  # (E,)
    label: Tensor  # (E,)
    first: Tensor  # (E,) first word
    last: Tensor  # (E,) last word, inclusive
    contiguous: Tensor  # (E,) bool
    first_end: Tensor  # (E,) last word of the first fragment
    last_start: Tensor  # (E,) first word of the last fragment
    words: Tensor  # (W,) word indices in their sentences
    offsets: Tensor  # (E + 1,)
    annotated: Tensor  # (B, C) bool: label was annotated there; others give no loss
    counts: tuple[int, ...]
    """Entities of each sentence, on the host."""
    host: GoldArrays
    opinions: Opinions | None = None


@dataclass(frozen=True, slots=True)
class Opinion:
    """What other models hold for entities of one window, as arrays."""

    label: Integers
    first: Integers
    last: Integers
    contiguous: Flags
    thousandths: Integers
    words: Integers
    sizes: Integers  # words of each entity
    share: float
    know_gaps: bool

    @classmethod
    def of(cls, entities: Sequence[WordEntity], labels: Sequence[str], share: float, know_gaps: bool = False) -> Self:
        """Of entities whose scores are their likelihoods; labels that training does not know say nothing."""
        number = {label: i for i, label in enumerate(labels)}
        known = [entity for entity in entities if entity.label in number]
        return cls(
            label=_integers(number[entity.label] for entity in known),
            first=_integers(entity.first for entity in known),
            last=_integers(entity.last for entity in known),
            contiguous=_flags(len(entity.fragments) == 1 for entity in known),
            thousandths=_integers(round(_WHOLE * (entity.score or 0.0)) for entity in known),
            words=_integers(chain.from_iterable(entity.word_indices for entity in known)),
            sizes=_integers(len(entity.word_indices) for entity in known),
            share=share,
            know_gaps=know_gaps,
        )

    def part(self, first: int, stop: int) -> Opinion:
        """On the words from `first` to `stop` alone."""
        return replace(self, **_entities_within(self, first, stop, ("label", "first", "last", "contiguous", "thousandths")))

    @classmethod
    def joined(cls, opinions: Sequence[Opinion], shifts: Sequence[int]) -> Opinion:
        """Opinions of one kind on texts that follow each other, each shifted by so many words."""
        return replace(opinions[0], **_entities_joined(opinions, shifts, ("label", "first", "last", "contiguous", "thousandths")))


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
    opinion: Opinion | None = None
    last_epoch: int | None = None
    """After which it is not seen any more; None: it is seen in all."""
    times: int = 1
    """How often it is seen in an epoch."""
    source: str | None = None
    """The document that it is a part of, if that is known."""

    @classmethod
    def of(
        cls,
        window: Window,
        entities: Sequence[WordEntity],
        labels: Sequence[str],
        annotated: frozenset[str] | None,
        opinion: Opinion | None = None,
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
            opinion=opinion,
        )

    def part(self, first: int, stop: int) -> Example:
        """The words from `first` to `stop` alone, with the entities that lie wholly among them."""
        return replace(
            self,
            window=self.window.part(first, stop),
            opinion=self.opinion and self.opinion.part(first, stop),
            **_entities_within(self, first, stop, _PER_ENTITY),
        )

    @classmethod
    def joined(cls, examples: Sequence[Example], breaks: Sequence[bool]) -> Example:
        """One example of several that follow each other; `breaks` tells before which of them a line break stands.

        All have opinions of one kind, or none has, and the same labels are annotated in all.
        """
        if len(examples) == 1:
            return examples[0]
        lengths = [len(example.window.words) for example in examples]
        shifts = list(accumulate(lengths[:-1], initial=0))
        held = [example.opinion for example in examples if example.opinion is not None]
        return replace(
            examples[0],
            window=Window.joined([example.window for example in examples], shifts, breaks),
            opinion=Opinion.joined(held, shifts) if held else None,
            **_entities_joined(examples, shifts, _PER_ENTITY),
        )

    def without(self, words: Flags, unknown: int) -> Example:
        """The same example with all pieces of some words replaced by the unknown piece, and their features hidden."""
        pieces = [(unknown,) * len(own) if hidden else own for own, hidden in zip(self.window.pieces, words, strict=True)]
        hidden = frozenset(np.flatnonzero(words).tolist())
        return replace(self, window=replace(self.window, pieces=pieces, hidden=hidden))


_PER_ENTITY = ("label", "first", "last", "contiguous", "first_end", "last_start")
_PLACES = frozenset({"first", "last", "first_end", "last_start"})


def _entities_within(held: Example | Opinion, first: int, stop: int, names: Sequence[str]) -> dict[str, Any]:
    """Of the arrays of these names, and of words and sizes, what belongs to entities among these words."""
    kept = (held.first >= first) & (held.last < stop)
    found = {name: getattr(held, name)[kept] for name in (*names, "sizes")}
    moved = {name: found[name] - first for name in names if name in _PLACES}
    return {**found, **moved, "words": held.words[np.repeat(kept, held.sizes)] - first}


def _entities_joined(held: Sequence[Example] | Sequence[Opinion], shifts: Sequence[int], names: Sequence[str]) -> dict[str, Any]:
    """The arrays of these names, and words and sizes, of texts that follow each other, each shifted by so many words."""

    def together(name: str) -> NDArray[Any]:
        arrays = [getattr(one, name) for one in held]
        if name in _PLACES or name == "words":
            arrays = [array + shift for array, shift in zip(arrays, shifts, strict=True)]
        return np.concatenate(arrays)

    return {name: together(name) for name in (*names, "words", "sizes")}


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
        opinions=_opinions_of(examples),
    )


def _opinions_of(examples: Sequence[Example]) -> Opinions | None:
    held = [(row, example.opinion) for row, example in enumerate(examples) if example.opinion is not None]
    if not held:
        return None
    joined = {
        name: np.concatenate([getattr(opinion, name) for _, opinion in held])
        for name in ("label", "first", "last", "contiguous", "thousandths", "words", "sizes")
    }
    sentence = np.repeat([row for row, _ in held], [len(opinion.label) for _, opinion in held])
    heard = np.array([example.opinion is not None for example in examples])
    know_gaps = np.array([example.opinion is not None and example.opinion.know_gaps for example in examples])
    offsets = np.concatenate([[0], np.cumsum(joined["sizes"])])
    entities = GoldArrays(sentence, joined["label"], joined["first"], joined["last"], joined["words"], offsets)
    annotated = np.stack([example.annotated for example in examples])[sentence, joined["label"]]  # (O,)
    return Opinions(
        sentence=torch.from_numpy(sentence),
        **{name: torch.from_numpy(joined[name]) for name in ("label", "first", "last", "contiguous", "thousandths")},
        heard=torch.from_numpy(heard),
        share=held[0][1].share,
        know_gaps=torch.from_numpy(know_gaps),
        host=HeldArrays(entities, np.where(annotated, joined["thousandths"] / _WHOLE, 0.0), heard, know_gaps),
    )
