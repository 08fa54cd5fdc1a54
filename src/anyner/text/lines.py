"""Where the lines of a text begin: headings, list items, table rows, but not the lines of a wrapped paragraph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from anyner.fragments import Fragment

_LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]+")
_LINE_END = re.compile(r"\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
_NARROWEST, _WIDEST = 40, 120
"""Characters of the longest line of a wrapped paragraph: shorter lines are a list, longer ones whole paragraphs."""


def line_starts(text: str) -> list[int]:
    """Offsets at which lines begin, except the first. A wrapped paragraph is one line.

    A paragraph counts as wrapped if no line has room for the next line's first word within the longest line's width.

    >>> line_starts("Shopping list\\nmilk\\nbread")
    [14, 19]
    """
    if not _LINE_END.search(text):
        return []
    lines = [(match.start(), match.end()) for match in _LINE.finditer(text) if not match[0].isspace()]
    found: list[int] = []
    for paragraph in _paragraphs(text, lines):
        found.extend(start for start, _ in (paragraph[:1] if _wrapped(text, paragraph) else paragraph))
    return found[1:]


def _wrapped(text: str, paragraph: Sequence[Fragment]) -> bool:
    width = max(end - start for start, end in paragraph)
    return _NARROWEST <= width <= _WIDEST and all(
        end - start + 1 + len(text[next_start:next_end].split(maxsplit=1)[0]) > width
        for (start, end), (next_start, next_end) in pairwise(paragraph)
    )


def _paragraphs(text: str, lines: Sequence[Fragment]) -> list[list[Fragment]]:
    """Groups of lines, separated by empty lines."""
    groups: list[list[Fragment]] = []
    before = None
    for line in lines:
        if before is None or len(_LINE_END.findall(text, before, line[0])) > 1:
            groups.append([])
        groups[-1].append(line)
        before = line[1]
    return groups


class LineStarts:
    """Tells which words of a text begin a line; words must come in order."""

    def __init__(self, text: str) -> None:
        self._starts, self._next = line_starts(text), 0

    def flags(self, words: Sequence[Fragment]) -> list[bool]:
        """For each of the next words of the text, whether it is the first of a line."""
        flags = [False] * len(words)
        place = 0
        while self._next < len(self._starts) and self._starts[self._next] <= words[-1][0]:
            while words[place][0] < self._starts[self._next]:
                place += 1
            flags[place] = True
            self._next += 1
        return flags
