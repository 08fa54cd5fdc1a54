"""`Entity` and `Document`: frozen, validated, the only types that cross the boundary of the package.

Truth is characters: every position is a character of `Document.text`, every fragment is half-open `[start, end)`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from numbers import Real
from operator import attrgetter, index
from typing import Any, cast

from anyner.errors import InvalidInputError
from anyner.fragments import Fragment, Fragments, canonical_fragments, joined_over_white_space

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class _InText:
    """The source of an entity's text: a text given with it, or the whole text of its document."""

    __slots__ = ("_given", "_source")
    _given: str
    _source: str | None


class _TextOfEntity:
    """`Entity.text`, sliced from the document's text on access: nested entities would otherwise store it many times over."""

    def __get__(self, entity: Entity | None, owner: type) -> str:
        if entity is None:
            return ""
        if entity._source is None:
            return entity._given
        return " ".join([entity._source[start:end] for start, end in entity.fragments])


@dataclass(frozen=True, init=False)
class Entity(_InText):
    """A label on one fragment (contiguous) or several (discontinuous). Entities are equal if label, fragments and score are.

    >>> Entity("Disorder", ((0, 4), (12, 15))).discontinuous
    True
    """

    __slots__ = ("fragments", "label", "score")  # explicit: `text` is a field without a slot

    label: str
    fragments: Fragments
    score: float | None
    text: str = field(default=cast(str, _TextOfEntity()), compare=False)
    """The fragments' text, joined by one space; set on the entities of a document."""

    def __init__(self, label: str, fragments: Fragments, score: float | None = None, text: str = "") -> None:
        if not isinstance(label, str) or not label.strip():
            raise InvalidInputError(f"label: expected a non-empty string, got {label!r}")
        if score is not None and not (isinstance(score, Real) and math.isfinite(score)):
            raise InvalidInputError(f"score: expected a finite number, got {score!r}")
        self._fill(label, canonical_fragments(fragments), None if score is None else float(score), text, None)

    def _fill(self, label: str, fragments: Fragments, score: float | None, given: str, source: str | None) -> None:
        fill = object.__setattr__  # the class is frozen
        fill(self, "label", label)
        fill(self, "fragments", fragments)
        fill(self, "score", score)
        fill(self, "_given", given)
        fill(self, "_source", source)

    def __reduce__(self) -> tuple[Any, ...]:
        return unchecked_entity, (self.label, self.fragments, self.score, self._given, self._source)

    @property
    def key(self) -> tuple[str, Fragments]:
        """What makes two entities the same for scoring: label and fragments, never the score."""
        return (self.label, self.fragments)

    @property
    def start(self) -> int:
        return self.fragments[0][0]

    @property
    def end(self) -> int:
        return self.fragments[-1][1]

    @property
    def discontinuous(self) -> bool:
        return len(self.fragments) > 1

    def rescored(self, score: float | None) -> Entity:
        """The same entity with another score."""
        return unchecked_entity(self.label, self.fragments, score, self._given, self._source)

    def to_json(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"label": self.label, "fragments": [list(f) for f in self.fragments], "text": self.text}
        if self.score is not None:
            plain["score"] = round(self.score, 6)
        return plain


def unchecked_entity(label: str, fragments: Fragments, score: float | None, given: str = "", source: str | None = None) -> Entity:
    """An entity built without validation; `source` is the text of its document."""
    entity = object.__new__(Entity)
    entity._fill(label, fragments, score, given, source)
    return entity


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its entities, in reading order. Anything that does not fit the text is refused, never silently repaired.

    Fragments separated only by white space are merged: "chest pain" across a line break is contiguous.
    """

    text: str
    entities: tuple[Entity, ...] = ()
    id: str = ""
    words: tuple[Fragment, ...] | None = None
    """Word boundaries of a pre-tokenised corpus, in characters; None for raw text."""
    labels: frozenset[str] | None = None
    """The labels annotated in this document; None: all labels of the corpus. Labels that are not annotated give no loss."""
    doc: str | None = None
    """Name of the source document that this sentence was taken from."""
    sentence: int | None = None
    """Index of the sentence in its source document."""
    before: str = field(default="", compare=False)
    """Text right before this one, read as context only."""
    after: str = field(default="", compare=False)
    coverage: float = field(default=1.0, compare=False)
    """Share of the words that the model read; 1.0 unless something was left out."""
    unknown: float = field(default=0.0, compare=False)
    """Share of the words that have letters or digits but are not in the model's vocabulary."""
    meta: Mapping[str, Any] | None = field(default=None, compare=False)
    """Other keys of its record in JSON lines, written back with it."""

    def __post_init__(self) -> None:
        for text in (self.text, self.before, self.after):
            if not isinstance(text, str):
                raise InvalidInputError(f"text: expected str, got {type(text).__name__}")
            if surrogate := _LONE_SURROGATE.search(text):
                raise InvalidInputError(f"the text has a lone surrogate at character {surrogate.start()}: not valid Unicode")
        if self.words is not None:
            object.__setattr__(self, "words", _checked_words(self.words, len(self.text)))
        if self.entities:
            ordered = _in_order(self.entities, self.text)
            if double := next((one for one, other in pairwise(ordered) if _same_annotation(one, other)), None):
                raise InvalidInputError(f"duplicate entity {double.label} {double.fragments}")
            object.__setattr__(self, "entities", tuple(ordered))

    @classmethod
    def from_words(cls, words: Iterable[str], entities: Iterable[Entity] = (), **fields: Any) -> Document:
        """A document from a list of words, joined with one space; the entities' fragments count words."""
        listed = list(words)
        spans: list[Fragment] = []
        position = 0
        for number, word in enumerate(listed):
            if not word:
                raise InvalidInputError(f"word {number} is empty")
            spans.append((position, position + len(word)))
            position += len(word) + 1
        in_characters = []
        for entity in entities:
            if entity.end > len(spans):
                raise InvalidInputError(f"entity {entity.label} {entity.fragments} ends after the last of {len(spans)} words")
            fragments = tuple((spans[start][0], spans[end - 1][1]) for start, end in entity.fragments)
            in_characters.append(replace(entity, fragments=fragments))
        return cls(text=" ".join(listed), entities=tuple(in_characters), words=tuple(spans), **fields)

    def with_entities(self, entities: Iterable[Entity], coverage: float = 1.0, unknown: float = 0.0) -> Document:
        """The same text with predicted entities; of two that differ only in white space, the one with the better score stays."""
        other = object.__new__(Document)  # text and words are already validated; only the entities are checked
        for name in Document.__slots__:
            object.__setattr__(other, name, getattr(self, name))
        object.__setattr__(other, "entities", tuple(_without_duplicates(_in_order(entities, self.text))))
        object.__setattr__(other, "coverage", coverage)
        object.__setattr__(other, "unknown", unknown)
        return other

    def _repr_html_(self) -> str | None:
        """For notebooks."""
        return None if _html_renderer is None else _html_renderer(self)

    def to_json(self) -> dict[str, Any]:
        """The JSON form, one object a document, in characters."""
        plain: dict[str, Any] = {"id": self.id, "text": self.text, "entities": [e.to_json() for e in self.entities]}
        optional = {
            "words": None if self.words is None else [list(word) for word in self.words],
            "doc": self.doc,
            "sentence": self.sentence,
            "labels": None if self.labels is None else sorted(self.labels),
            "coverage": None if self.coverage == 1.0 else self.coverage,
            "unknown": self.unknown or None,
        }
        plain |= {key: value for key, value in optional.items() if value is not None}
        return plain | {key: value for key, value in (self.meta or {}).items() if key not in plain}


_html_renderer: Callable[[Document], str] | None = None


def set_html_renderer(renderer: Callable[[Document], str] | None) -> None:
    """Set how notebooks show a document. The package calls it, so that this file need not import the drawing code."""
    global _html_renderer  # noqa: PLW0603
    _html_renderer = renderer


def checked_documents(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents one by one; anything else is refused."""
    if isinstance(documents, Document) or not isinstance(documents, Iterable):
        raise InvalidInputError(f"documents: expected a list of documents, got {type(documents).__name__}")
    for number, document in enumerate(documents, 1):
        if not isinstance(document, Document):
            raise InvalidInputError(f"document {number}: expected Document, got {type(document).__name__}")
        yield document


def _checked_words(words: Iterable[Fragment], length: int) -> tuple[Fragment, ...]:
    try:
        checked = tuple((index(start), index(end)) for start, end in words)
    except (TypeError, ValueError):
        raise InvalidInputError("words: expected pairs of whole numbers, start and end") from None
    position = 0
    for start, end in checked:
        if start < position or end <= start or end > length:
            raise InvalidInputError(f"word [{start}, {end}) is empty, out of order or outside the text of {length} characters")
        position = end
    return checked


def _in_order(entities: Iterable[Entity], text: str) -> list[Entity]:
    """The entities on the text, in reading order: by start, longer first, then fragments, then label.

    Several stable sorts, least important key first, avoid building key tuples: a book has hundreds of thousands of entities.
    """
    placed = [_placed(entity, text) for entity in entities]
    if len(placed) > 1:
        placed.sort(key=attrgetter("label"))
        placed.sort(key=attrgetter("fragments"))
        placed.sort(key=attrgetter("end"), reverse=True)
        placed.sort(key=attrgetter("start"))
    return placed


def _same_annotation(one: Entity, other: Entity) -> bool:
    return one.fragments == other.fragments and one.label == other.label


def _without_duplicates(entities: list[Entity]) -> list[Entity]:
    """The best of entities that differ only in score; these are adjacent in reading order."""
    if not any(_same_annotation(one, other) for one, other in pairwise(entities)):
        return entities
    best: dict[tuple[str, Fragments], Entity] = {}
    for entity in entities:
        other = best.get(entity.key)
        if other is None or _strength(entity) > _strength(other):
            best[entity.key] = entity
    return list(best.values())


def _strength(entity: Entity) -> float:
    """The score; no score ranks below every score."""
    return -math.inf if entity.score is None else entity.score


def _placed(entity: Entity, text: str) -> Entity:
    """The entity with its text; fragments separated only by white space are merged."""
    if not isinstance(entity, Entity):
        raise InvalidInputError(f"entities: expected Entity objects, got {type(entity).__name__}")
    if entity._source is text and len(entity.fragments) == 1:
        return entity
    if entity.end > len(text):
        raise InvalidInputError(f"entity {entity.label} {entity.fragments} ends after the text's {len(text)} characters")
    return unchecked_entity(entity.label, joined_over_white_space(entity.fragments, text), entity.score, source=text)
