"""Fragments: the half-open stretches `[start, end)` of characters that an entity covers."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index

from anyner.errors import InvalidInputError

Fragment = tuple[int, int]
Fragments = tuple[Fragment, ...]


def canonical_fragments(fragments: Iterable[tuple[int, int]]) -> Fragments:
    """Validated fragments, adjacent ones joined; reversed, empty, unsorted or overlapping ones are refused."""
    joined: list[Fragment] = []
    try:
        pairs = [(index(start), index(end)) for start, end in fragments]  # any integer type, including numpy's
    except (TypeError, ValueError):
        raise InvalidInputError(f"fragments: expected pairs of whole numbers, start and end, got {fragments!r}") from None
    for start, end in pairs:
        if start < 0 or end <= start:
            raise InvalidInputError(f"fragment [{start}, {end}) is empty, reversed or negative")
        if joined and start < joined[-1][1]:
            raise InvalidInputError(f"fragment [{start}, {end}) overlaps or precedes the fragment before it")
        if joined and start == joined[-1][1]:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    if not joined:
        raise InvalidInputError("an entity needs at least one fragment")
    return tuple(joined)


def joined_over_white_space(fragments: Fragments, text: str) -> Fragments:
    """Fragments as a document holds them: those separated only by white space are merged."""
    joined = [fragments[0]]
    for start, end in fragments[1:]:
        if text[joined[-1][1] : start].isspace():
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return tuple(joined)


def shifted(fragments: Fragments, by: int) -> Fragments:
    """The fragments with their positions moved by an offset."""
    return tuple((start + by, end + by) for start, end in fragments)
