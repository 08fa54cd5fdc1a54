"""Writing directions: which stretches of a text run from right to left, and under which the label of an entity may lie."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from anyner.fragments import Fragment

_LONGEST_LOOK = 120
_BLOCKS = re.compile("[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]")
"""The blocks of all characters that run from right to left."""


def has_right_to_left(text: str) -> bool:
    """Whether the text may have characters that run from right to left."""
    return not text.isascii() and _BLOCKS.search(text) is not None


def right_to_left(text: str, place: int) -> bool:
    """Whether the paragraph around that place runs from right to left."""
    if text.isascii():
        return False
    end = text.find("\n", place)
    strong = _first_strong(text, text.rfind("\n", 0, place) + 1, end if end >= 0 else len(text))
    return strong is not None and _is_right_to_left(text[strong])


def runs_backwards(text: str, fragment: Fragment) -> bool:
    """Whether an entity with this first fragment runs from right to left."""
    strong = _first_strong(text, fragment[0], min(fragment[1], fragment[0] + _LONGEST_LOOK))
    return right_to_left(text, fragment[0]) if strong is None else _is_right_to_left(text[strong])


def _first_strong(text: str, start: int, end: int) -> int | None:
    """The first character with a direction of its own."""
    return next((place for place in range(start, end) if unicodedata.bidirectional(text[place]) in ("L", "R", "AL")), None)


def _is_right_to_left(character: str) -> bool:
    return unicodedata.bidirectional(character) in ("R", "AL")


@dataclass(slots=True)
class Mixture:
    """The stretches of a text that run against their paragraph, and the numbers in them that do not."""

    text: str
    against: list[Fragment] = field(default_factory=list)
    numbers: list[Fragment] = field(default_factory=list)

    def __post_init__(self) -> None:
        start = 0
        for paragraph in self.text.split("\n"):
            if has_right_to_left(paragraph):
                base = right_to_left(paragraph, 0)
                found = levels(paragraph, base)
                self.against += _stretches_above(base, found, start)
                self.numbers += _stretches_above(base + 1, found, start)
            start += len(paragraph) + 1

    def label_span(self, fragment: Fragment, room: int, places: Sequence[int]) -> Fragment:
        """The stretch under which the label of an entity with this first fragment may lie, however the text is wrapped.

        A label in a run against its paragraph may reach over the edge of the run, and then lies under the text on the
        other side. `places` gives the width of the text before each character, `room` that of the label.
        """
        start = fragment[0]
        strong = _first_strong(self.text, start, min(fragment[1], start + _LONGEST_LOOK))
        anchor = start if strong is None else strong
        forward = runs_backwards(self.text, fragment) == right_to_left(self.text, start)
        own = _around(self.against, anchor)
        if own is None:
            low, high = (places[start], places[start] + room) if forward else (places[start] - room, places[start])
        elif forward or _around(self.numbers, anchor):
            low, high = places[own[0]] - room, places[own[1]] + room
        else:
            low, high = places[own[0]] - room, min(places[own[1]], places[start] + room)
        for runs in (self.numbers, self.against):
            if (entered := _around(runs, bisect_right(places, low) - 1)) and entered != own:
                low = places[entered[0]]
            if (entered := _around(runs, bisect_left(places, high) - 1)) and entered != own:
                high = places[entered[1]]
        return low, high


def _stretches_above(level: int, levels: Sequence[int], start: int) -> list[Fragment]:
    """The stretches on higher levels, as characters of the text in which the paragraph begins at `start`."""
    stretches = []
    for above, group in groupby(levels, key=lambda one: one > level):
        end = start + sum(1 for _ in group)
        if above:
            stretches.append((start, end))
        start = end
    return stretches


def _around(stretches: Sequence[Fragment], place: int) -> Fragment | None:
    """The stretch that a character lies in."""
    number = bisect_right(stretches, place, key=itemgetter(0)) - 1
    return stretches[number] if number >= 0 and place < stretches[number][1] else None


def levels(text: str, backwards: bool) -> list[int]:
    """The embedding level of every character, odd for right-to-left: Unicode bidi rules without explicit embeddings."""
    base = "R" if backwards else "L"
    kinds, strong = [], base
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in ("L", "R", "AL"):
            strong = "L" if kind == "L" else "R"
            kinds.append(strong)
        elif kind in ("EN", "AN"):
            kinds.append("L" if strong == "L" else "N")
        elif kind == "NSM" and kinds:
            kinds.append(kinds[-1])
        else:
            kinds.append("")
    resolved: list[str] = []
    for kind, group in groupby(kinds):
        size, place = sum(1 for _ in group), len(resolved)
        before = resolved[-1] if resolved else base
        after = kinds[place + size] if place + size < len(kinds) else base
        if kind:
            resolved += [kind] * size
        elif size == 1 and before == after == "N" and unicodedata.bidirectional(text[place]) in ("CS", "ES"):
            resolved += ["N"]  # as in 1,000
        else:
            same = {"N": "R"}.get(before, before) == {"N": "R"}.get(after, after)
            resolved += [{"N": "R"}.get(before, before) if same else base] * size
    return [{"L": 2 if backwards else 0, "R": 1, "N": 2}[kind] for kind in resolved]
