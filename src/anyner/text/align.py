"""Characters <-> words: entities in word indices; reports every entity that is not on word boundaries."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from anyner.document import Entity, unchecked_entity
from anyner.fragments import Fragments, canonical_fragments

_SHOWN = 60
"""Characters of an entity that a message shows."""


@dataclass(frozen=True, slots=True)
class WordEntity:
    """An entity whose fragments count words of a window (or of a document) instead of characters."""

    label: str
    fragments: Fragments
    score: float | None = None

    @classmethod
    def of_words(cls, label: str, words: Sequence[int], score: float | None = None) -> WordEntity:
        """From the indices of its words, in order: adjacent words form one fragment."""
        return cls(label, canonical_fragments([(word, word + 1) for word in words]), score)

    @property
    def first(self) -> int:
        return self.fragments[0][0]

    @property
    def last(self) -> int:
        """Index of the last word, inclusive."""
        return self.fragments[-1][1] - 1

    @property
    def word_indices(self) -> tuple[int, ...]:
        return tuple(word for start, end in self.fragments for word in range(start, end))


@dataclass(frozen=True, slots=True)
class Misalignment:
    """An entity that is not on word boundaries; `widened` is the entity in whole words, None if it touches no word."""

    entity: Entity
    widened: WordEntity | None

    def __str__(self) -> str:
        fate = "widened to whole words" if self.widened else "it touches no word"
        where = list(map(list, self.entity.fragments))
        text = self.entity.text if len(self.entity.text) <= _SHOWN else self.entity.text[:_SHOWN] + "…"
        return f"{self.entity.label} {text!r} {where} is not on word boundaries: {fate}"


@dataclass(frozen=True, slots=True)
class Aligned:
    entities: tuple[WordEntity, ...]
    misaligned: tuple[Misalignment, ...] = ()


def to_words(entities: Iterable[Entity], starts: Sequence[int], ends: Sequence[int]) -> Aligned:
    """Entities in word indices. One that cuts through words is widened and reported; one that touches none is reported."""
    found: dict[tuple[str, Fragments], WordEntity] = {}
    misaligned: list[Misalignment] = []
    for entity in entities:
        exact = True
        spans: list[tuple[int, int]] = []
        for start, end in entity.fragments:
            first = bisect_right(ends, start)
            stop = bisect_left(starts, end)
            if first >= stop:
                exact = False
                continue
            exact = exact and starts[first] == start and ends[stop - 1] == end
            if spans and first < spans[-1][1]:
                first = spans[-1][1]
            if first < stop:
                spans.append((first, stop))
        if not spans:
            misaligned.append(Misalignment(entity, None))
            continue
        in_words = WordEntity(entity.label, canonical_fragments(spans), entity.score)
        # Given words may leave characters out: fragments separated in characters can then be adjacent in words.
        if not exact or len(in_words.fragments) < len(entity.fragments):
            misaligned.append(Misalignment(entity, in_words))
        found.setdefault((in_words.label, in_words.fragments), in_words)
    return Aligned(tuple(found.values()), tuple(misaligned))


def to_characters(entity: WordEntity, starts: Sequence[int], ends: Sequence[int], text: str = "") -> Entity:
    """The entity in characters: from the start of each fragment's first word to the end of its last."""
    in_words = entity.fragments if len(entity.fragments) == 1 else canonical_fragments(entity.fragments)
    fragments = tuple([(starts[first], ends[stop - 1]) for first, stop in in_words])
    return unchecked_entity(entity.label, canonical_fragments(fragments), entity.score, source=text or None)
