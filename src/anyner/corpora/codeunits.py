"""Offsets in UTF-16 code units, as in JavaScript, Java, C# and Azure, where an emoji counts as two; and in UTF-8 bytes."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate

_TWO_UNITS = re.compile("[\U00010000-\U0010ffff]")


class Utf16Offsets:
    """Converts offsets in one text.

    >>> Utf16Offsets("😀 hip").units(2), Utf16Offsets("😀 hip").character(3)
    (3, 2)
    """

    def __init__(self, text: str) -> None:
        self._wide = [match.start() for match in _TWO_UNITS.finditer(text)]
        self._wide_units = [place + number for number, place in enumerate(self._wide)]
        self.length = len(text) + len(self._wide)

    @property
    def same(self) -> bool:
        """Whether every character is one unit."""
        return not self._wide

    def units(self, character: int) -> int:
        """The code units before a character."""
        return character + bisect_left(self._wide, character)

    def character(self, unit: int) -> int | None:
        """The character that begins at a unit; None inside a character. An offset outside the text stays outside."""
        if unit < 0:
            return unit
        before = bisect_left(self._wide_units, unit)
        return None if before and self._wide_units[before - 1] == unit - 1 else unit - before


class Utf8Offsets:
    """Converts offsets in bytes of UTF-8.

    >>> Utf8Offsets("Zoë saw").character(5)
    4
    """

    def __init__(self, text: str) -> None:
        sizes = (len(character.encode()) for character in text)
        self._characters = {place: number for number, place in enumerate(accumulate(sizes, initial=0))}

    def character(self, byte: int) -> int | None:
        """The character that begins at a byte; None inside a character and outside the text."""
        return self._characters.get(byte)
