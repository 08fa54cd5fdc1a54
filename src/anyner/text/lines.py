"""Where the lines of a text begin: headings, list items, cells of a table, but not the lines of a wrapped paragraph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from anyner.fragments import Fragment

_LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]+")
_LINE_END = re.compile(r"\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")
_NARROWEST, _WIDEST = 40, 120
"""Characters of the longest line of a wrapped paragraph: shorter lines are a list, longer ones whole paragraphs."""
_NEARLY_FULL = 0.85
"""Share of the width that a line and the next line's first word exceed in prose whose lines are not filled exactly."""
_FEWEST, _IN_LOWER_CASE = 3, 0.4
"""At least this many of the lines that may go on, and this share of them, must be followed by lower case: the lines of most lists
begin with a capital."""
_SENTENCE_END = re.compile(r"(?<!\b[A-Z])[.!?:;…][\"'”’»)\]]*\s*$")
"""Not the period of an initial."""
_ITEM = re.compile(r"\s*(?:[-*•–—·>|]|\(?\d{1,3}[.)]|\(?[a-z]\)|\S+:)\s")
"""How a list item or a header such as `From:` begins."""
_COLUMN = re.compile(r"(?<=\S)(?: *\t[ \t]*| {3,})(?=\S)")
"""What separates the columns of a table."""


def line_starts(text: str) -> list[int]:
    """Offsets at which lines begin, except the first. A wrapped paragraph is one line, and so is every cell of a table.

    A paragraph without columns counts as wrapped if no line has room for the next line's first word within the longest line's
    width. Elsewhere a line goes on in the next if it is nearly full and ends no sentence, and if such lines are common and often
    followed by lower case.

    >>> line_starts("Shopping list\\nmilk\\nbread")
    [14, 19]
    """
    has_cells = "\t" in text or "   " in text  # much faster than the pattern
    cells = [match.end() for match in _COLUMN.finditer(text)] if has_cells else []
    if not _LINE_END.search(text):
        return cells
    lines = [(match.start(), match.end()) for match in _LINE.finditer(text) if not match[0].isspace()]
    found: list[int] = []
    for paragraph in _paragraphs(text, lines):
        found.extend(_starts(text, paragraph))
    return sorted({*found[1:], *cells})


def _starts(text: str, paragraph: Sequence[Fragment]) -> list[int]:
    starts = [start for start, _ in paragraph]
    width = max(end - start for start, end in paragraph)
    if not _NARROWEST <= width <= _WIDEST:
        return starts
    lines = [text[start:end] for start, end in paragraph]
    needed = [len(line) + 1 + len(following.split(maxsplit=1)[0]) for line, following in pairwise(lines)]
    if all(length > width for length in needed) and not any(map(_COLUMN.search, lines)):
        return starts[:1]
    full = [place for place, length in enumerate(needed, 1) if length > width * _NEARLY_FULL]
    going_on = [place for place in full if _may_go_on(lines[place - 1], lines[place])]
    in_lower_case = sum(lines[place].lstrip()[0].islower() for place in going_on)
    if 2 * len(full) < len(needed) or in_lower_case < max(_FEWEST, _IN_LOWER_CASE * len(going_on)):
        return starts
    joined = frozenset(going_on)
    return [start for place, start in enumerate(starts) if place not in joined]


def _may_go_on(line: str, following: str) -> bool:
    return not (_SENTENCE_END.search(line) or _ITEM.match(following) or _COLUMN.search(line))


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
