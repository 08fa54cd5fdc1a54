"""The shape of a word: where it has capitals, small letters, digits and signs. Encoders without case do not see it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby, islice

_MOST_ALIKE = 2
"""A run of characters of one kind counts as one or as several."""
_MOST_KINDS = 8
"""Runs of a word that count; the rest of a longer word says nothing more."""


@lru_cache(maxsize=200_000)
def shape_of(word: str) -> str:
    """Capitals as X, small letters as x, letters without case as c, digits as 0, signs as they are.

    >>> shape_of("NF-kappaB"), shape_of("T"), shape_of("p65"), shape_of("水")
    ('XX-xxX', 'X', 'x00', 'c')
    """
    runs = islice(groupby(map(_kind, word)), _MOST_KINDS)
    return "".join(kind * len(tuple(islice(alike, _MOST_ALIKE))) for kind, alike in runs)


def in_one_casing(words: Iterable[str]) -> bool:
    """Whether capitals say nothing: all letters are small, or all are capitals."""
    text = "".join(words)
    return text.islower() or text.isupper()


def _kind(character: str) -> str:
    if character.isupper():
        return "X"
    if character.islower():
        return "x"
    if character.isalpha():
        return "c"
    return "0" if character.isdigit() else character
