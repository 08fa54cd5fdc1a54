"""Documents as words: measuring entities in words, and fitting documents to formats that store words instead of a text."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from anyner.corpora.annotation import Claim, annotated, shown
from anyner.corpora.corpus import ProblemLog
from anyner.document import Document, Entity
from anyner.errors import InvalidInputError
from anyner.fragments import Fragment, Fragments

_WHITE_SPACE_WORD = re.compile(r"\S+")


def given_or_spaced_words(document: Document) -> tuple[Fragment, ...]:
    """The given words of the document, else those separated by white space."""
    if document.words is not None:
        return document.words
    return tuple(word.span() for word in _WHITE_SPACE_WORD.finditer(document.text))


@dataclass(frozen=True, slots=True)
class WordExtent:
    """An entity in words. Every word it touches counts, and an entity that touches none counts as one word."""

    first: int
    last: int
    length: int
    gap: int
    """Words between its first and its last word that it does not touch."""


class WordRuler:
    """Measures the entities of one document in its words, given or separated by white space."""

    def __init__(self, document: Document) -> None:
        self.words = given_or_spaced_words(document)
        self._starts = [start for start, _ in self.words]
        self._ends = [end for _, end in self.words]

    def extent(self, entity: Entity) -> WordExtent:
        first = upto = bisect_right(self._ends, entity.start)
        length = 0
        for start, end in entity.fragments:
            # Two fragments may touch the same word: it counts once.
            begin = max(upto, bisect_right(self._ends, start))
            upto = max(begin, bisect_left(self._starts, end))
            length += upto - begin
        last = max(first, bisect_left(self._starts, entity.end) - 1)
        length = max(length, 1)
        return WordExtent(first, last, length, max(0, last - first + 1 - length))


def words_of(document: Document) -> list[str]:
    """The given words as text."""
    return [document.text[start:end] for start, end in document.words or ()]


def entities_in_words(document: Document) -> list[tuple[Entity, Fragments]]:
    """Each entity with its fragments in given words; without fragments if it is not on word boundaries."""
    words = document.words or ()
    first = {start: number for number, (start, _) in enumerate(words)}
    past = {end: number + 1 for number, (_, end) in enumerate(words)}
    placed: list[tuple[Entity, Fragments]] = []
    for entity in document.entities:
        fragments = tuple((first[s], past[e]) for s, e in entity.fragments if s in first and e in past)
        placed.append((entity, fragments if len(fragments) == len(entity.fragments) else ()))
    return placed


@dataclass(frozen=True, slots=True)
class WordRules:
    """What a word format can hold; `*_trouble` says what is wrong with a word or a label, or None."""

    discontinuous: bool = True
    overlapping: bool = True
    no_words: bool = True
    word_trouble: Callable[[str], str | None] = lambda _: None
    label_trouble: Callable[[str], str | None] = lambda _: None

    def fit(self, document: Document, log: ProblemLog) -> Document:
        """The document as words joined by single spaces, with the entities that sit on them and that the rules allow.

        A document without given words gets its white-space words.
        """
        document = replace(document, words=given_or_spaced_words(document))
        words = words_of(document)
        if not words and not self.no_words:
            raise InvalidInputError("it has no words")
        for word in words:
            if trouble := self.word_trouble(word):
                raise InvalidInputError(f"word {shown(word)} {trouble}")
        joined = Document.from_words(words)
        if joined.text != document.text:
            log.kept(0, "its text is not its words joined by single spaces")
        claims = self._allowed(entities_in_words(document), log)
        bare = replace(document, text=joined.text, words=joined.words, entities=())
        return annotated(bare, claims, log, in_words=True)

    def _allowed(self, placed: Sequence[tuple[Entity, Fragments]], log: ProblemLog) -> list[Claim]:
        claims: list[Claim] = []
        taken_to = 0  # entities come in reading order, so only the end of the last one kept matters
        for entity, fragments in placed:
            if trouble := self.label_trouble(entity.label):
                trouble = f"its label {trouble}"
            elif not fragments:
                trouble = "it does not sit on word boundaries"
            elif len(fragments) > 1 and not self.discontinuous:
                trouble = "it is discontinuous"
            elif not self.overlapping and entity.start < taken_to:
                trouble = "it overlaps another entity"
            if trouble:
                log.dropped(0, f"entity {shown(entity.label)} {shown(entity.text)}: {trouble}")
            else:
                taken_to = entity.end
                claims.append(Claim(0, entity.label, fragments, entity.score))
        return claims
