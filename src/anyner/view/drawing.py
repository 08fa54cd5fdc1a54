"""What the terminal and the HTML page share: characters made visible, the entities of a line, and their tracks.

Tracks are the lines under a text on which entities are drawn, track 0 nearest to the text.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from anyner.document import Entity
from anyner.fragments import Fragments

Span = tuple[int, int]
_JOINERS = "\u200c\u200d"
_INVISIBLE = "\u00ad\u200b\u2060\ufeff"


def visible_control(character: str) -> str:
    """A control character as its symbol (ESC becomes ␛), so that it is visible and harmless; others unchanged."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if unicodedata.category(character) in ("Cc", "Cs") else character


def for_terminal(character: str) -> str:
    """What to print for a character: nothing that moves the cursor, starts an escape sequence or turns the direction."""
    category = unicodedata.category(character)
    if category not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character
    if character == "\t":
        return "    "
    if category == "Cc":
        return visible_control(character)
    if character in _JOINERS:
        return character
    is_tag = "\U000e0000" <= character <= "\U000e007f"
    return "" if character in _INVISIBLE or is_tag else "\ufffd"


def columns(printed: str) -> int:
    """The columns that a printed text takes: 2 for wide characters, 0 for combining ones."""
    return len(printed) if printed.isascii() else sum(map(_columns_of_one, printed))


def _columns_of_one(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def on_lines(lines: Iterable[Span], entities: Sequence[Entity]) -> Iterator[list[int]]:
    """For each line, given from its first character to its end, the places of the entities on it.

    Both come in the order of the text, so each entity is looked at where it lies only.
    """
    shown: list[int] = []
    coming = 0
    for start, end in lines:
        while coming < len(entities) and entities[coming].start < end:
            shown.append(coming)
            coming += 1
        shown = [place for place in shown if entities[place].end > start]
        yield shown


def near(fragments: Fragments, start: int, end: int) -> Fragments:
    """The fragments between two characters, and one more on either side, so that the gaps between are known as well.

    An entity may have as many fragments as a document has lines: looking at all of them on every line takes too long.
    """
    first = bisect_right(fragments, start, key=itemgetter(1))
    stop = bisect_left(fragments, end, key=itemgetter(0))
    return fragments[max(first - 1, 0) : stop + 1]


@dataclass(slots=True)
class _Track:
    """Footprints that do not overlap, in order."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    members: list[int] = field(default_factory=list)

    def overlapping(self, span: Span) -> list[int]:
        return self.members[bisect_right(self.ends, span[0]) : bisect_left(self.starts, span[1])]

    def add(self, span: Span, member: int) -> None:
        place = bisect_left(self.starts, span[0])
        self.starts.insert(place, span[0])
        self.ends.insert(place, span[1])
        self.members.insert(place, member)


def allocate(covers: Sequence[Span], footprints: Sequence[Span] | None = None) -> list[int]:
    """The track of every entity, given the span from its first to its last character.

    Shorter entities come first and take the lowest free track, so an entity lies further from the text than all entities
    inside it, and entities of one track never overlap. `footprints` are what must not overlap when that is more than the
    covers, for instance because a label sticks out. Equal input gives equal tracks.
    """
    footprints = covers if footprints is None else footprints
    tracks: list[_Track] = []
    chosen = [0] * len(covers)
    for member in sorted(range(len(covers)), key=lambda number: (covers[number][1] - covers[number][0], covers[number])):
        lowest, free = 0, []
        for number, track in enumerate(tracks):
            others = track.overlapping(footprints[member])
            if not others:
                free.append(number)
            elif any(_inside(covers[other], covers[member]) for other in others):
                lowest = number + 1
        chosen[member] = next((number for number in free if number >= lowest), len(tracks))
        if chosen[member] == len(tracks):
            tracks.append(_Track())
        tracks[chosen[member]].add(footprints[member], member)
    return chosen


def _inside(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]
