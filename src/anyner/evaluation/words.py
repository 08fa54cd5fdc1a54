"""Entities counted in words: how long they are, how wide their gaps, which word they begin and end with."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anyner.document import Document, Entity
from anyner.fragments import Fragment

WordsOf = Callable[[Document], Sequence[Fragment]]

_WHITE_SPACE_WORD = re.compile(r"\S+")


def default_words(document: Document) -> Sequence[Fragment]:
    """The words the document was given, else those that white space separates."""
    if document.words is not None:
        return document.words
    return [word.span() for word in _WHITE_SPACE_WORD.finditer(document.text)]


@dataclass(frozen=True, slots=True)
class WordExtent:
    """An entity in words. Every word it touches counts, and an entity that touches none counts as one word."""

    first: int
    last: int
    length: int
    gap: int
    """Words between its first and its last word that it does not touch."""


class WordRuler:
    """Measures the entities of one document in its words."""

    def __init__(self, words: Sequence[Fragment]) -> None:
        self._starts = [start for start, _ in words]
        self._ends = [end for _, end in words]

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
