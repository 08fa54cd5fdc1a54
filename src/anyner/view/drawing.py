"""Shared by all drawings: visible characters and their widths, line wrapping, and the tracks of entities.

Tracks are the lines under a text on which entities are drawn, track 0 nearest to the text. `tracks` assigns them for a whole
document; a drawing that wraps its text compacts them for each line with `rows`, which keeps their order.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter

from anyner.document import Document, Entity
from anyner.fragments import Fragments
from anyner.view.directions import Mixture, has_right_to_left

Span = tuple[int, int]
_BLANKS = re.compile(r"\s*")
_JOINERS = "\u200c\u200d"
_INVISIBLE = "\u00ad\u200b\u2060\ufeff"
_NOT_IN_XML = "\ufffe\uffff"
TEXT_SIZE, LABEL_SIZE = 17, 10
"""Font sizes in HTML and SVG, in pixels."""
EM = 1000
"""Widths of characters are in thousandths of the font size."""
LONGEST_LABEL = 13 * EM
"""Longer labels are truncated."""
# Of the characters from space to tilde in Helvetica, Arial and metric-compatible fonts.
_WIDTHS = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 "
    "556 556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 "
    "667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 "
    "556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584"
)
_ASCII = {chr(32 + place): int(width) for place, width in enumerate(_WIDTHS.split())}
_BETWEEN_LINES = 100 * EM


def visible_control(character: str) -> str:
    """A control character as its symbol (ESC becomes ␛), so that it is visible and harmless; others unchanged."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if unicodedata.category(character) in ("Cc", "Cs") or character in _NOT_IN_XML else character


def visible(text: str) -> str:
    """The text as HTML and XML can hold it: every control character but the tab as its symbol."""
    if text.isprintable():
        return text
    return "".join(c if c == "\t" else visible_control(c) for c in text)


def for_terminal(character: str) -> str:
    """What to print for a character: nothing that moves the cursor, starts an escape sequence or changes the text direction."""
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
    """Terminal columns of a printed text: 2 for wide characters, 0 for combining ones."""
    return len(printed) if printed.isascii() else sum(map(_columns_of_one, printed))


def _columns_of_one(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if _wide(character) else 1


def _wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in ("W", "F")


@lru_cache(maxsize=65_536)
def advance(character: str) -> int:
    """Approximate width of a character in a sans-serif font, in thousandths of the font size."""
    if character in _ASCII:
        return _ASCII[character]
    if character == "\t":
        return 4 * _ASCII[" "]
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    base = unicodedata.normalize("NFD", character)[0]
    return EM if _wide(character) else _ASCII.get(base, 600)


@lru_cache(maxsize=4096)
def label_advance(label: str) -> int:
    """Width of a label in bold and a space after it, in thousandths of the font size of the *text*."""
    letters = min(sum(1100 * advance(c) // EM for c in visible(label)), LONGEST_LABEL)
    return letters * LABEL_SIZE // TEXT_SIZE + 300


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a drawing: characters `[start, end)` of the text, and where each of them begins (and the last ends)."""

    start: int
    end: int
    reach: int
    """End of the line including the white space and line break that are not printed."""
    offsets: Sequence[int]


def lines(text: str, width: int, measured: Callable[[str], int]) -> Iterator[Line]:
    """The text wrapped to a width, at white space and between wide characters; `measured` gives the width of a character."""
    start = 0
    for paragraph in text.split("\n"):
        end = start + len(paragraph)
        place, stop = start, end - paragraph.endswith("\r")
        while True:
            cut, following = _cut(text, place, stop, width, measured)
            reach = following if following < stop else end + 1
            yield Line(place, cut, reach, tuple(accumulate(map(measured, text[place:cut]), initial=0)))
            if following >= stop:
                break
            place = following
        start = end + 1


def _cut(text: str, start: int, stop: int, width: int, measured: Callable[[str], int]) -> Span:
    """Where the line that begins at `start` ends, and where the next one begins: white space between is not printed."""
    used, best = 0, start
    for place in range(start, stop):
        character = text[place]
        taken = measured(character)
        if used + taken > width and place > start:
            end = place if character.isspace() or best == start else best
            return start + len(text[start:end].rstrip()), _BLANKS.match(text, end, stop).end()  # type: ignore[union-attr]
        used += taken
        if character.isspace() or _wide(character) or (taken == 0 and best == place):
            best = place + 1
    return stop, stop


def on_lines(lines: Iterable[Span], entities: Sequence[Entity]) -> Iterator[list[int]]:
    """For each line, given as a span of characters, the indices of the entities on it.

    Lines and entities are in text order, so each entity is compared with the lines around it only.
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
    """The fragments between two characters, and one more on either side, so that the gaps at the edges are known as well.

    An entity may have as many fragments as a document has lines: scanning all of them for every line takes too long.
    """
    first = bisect_right(fragments, start, key=itemgetter(1))
    stop = bisect_left(fragments, end, key=itemgetter(0))
    return fragments[max(first - 1, 0) : stop + 1]


class _Footprints:
    """Footprints of entities, sorted by start; with the length of the longest, those that overlap a span are found quickly."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends_and_members: list[Span] = []
        self._longest = 0

    def overlapping(self, span: Span) -> list[int]:
        start, end = span
        first, stop = bisect_right(self._starts, start - self._longest), bisect_left(self._starts, end)
        return [member for reach, member in self._ends_and_members[first:stop] if reach > start]

    def add(self, span: Span, member: int) -> None:
        place = bisect_left(self._starts, span[0])
        self._starts.insert(place, span[0])
        self._ends_and_members.insert(place, (span[1], member))
        self._longest = max(self._longest, span[1] - span[0])


def allocate(covers: Sequence[Span], footprints: Sequence[Span] | None = None) -> list[int]:
    """The track of every entity, given the span from its first to its last character.

    Shorter entities come first and take the lowest free track, so an entity lies further from the text than all entities
    inside it, and entities of one track never overlap. `footprints` are the spans that must not overlap where they
    are larger than the covers, for instance because a label sticks out. Equal input gives equal tracks.
    """
    footprints = covers if footprints is None else footprints
    placed = _Footprints()
    chosen = [0] * len(covers)
    for member in sorted(range(len(covers)), key=lambda number: (covers[number][1] - covers[number][0], covers[number])):
        others = placed.overlapping(footprints[member])
        start, end = covers[member]
        track = 1 + max([chosen[other] for other in others if start <= covers[other][0] and covers[other][1] <= end], default=-1)
        taken = {chosen[other] for other in others}
        while track in taken:
            track += 1
        chosen[member] = track
        placed.add(footprints[member], member)
    return chosen


def tracks(document: Document) -> list[int]:
    """The track of every entity of a document; the labels under the bars have room, however the text is wrapped."""
    entities = document.entities
    places = list(accumulate(map(_room, document.text), initial=0))
    labels = [(places[entity.start], places[entity.start] + label_advance(entity.label)) for entity in entities]
    if has_right_to_left(document.text):
        mixture = Mixture(document.text)
        labels = [mixture.label_span(entity.fragments[0], label_advance(entity.label), places) for entity in entities]
    footprints = [
        (min(places[entity.start], low), max(places[entity.end], high))
        for entity, (low, high) in zip(entities, labels, strict=True)
    ]
    return allocate([(entity.start, entity.end) for entity in entities], footprints)


@lru_cache(maxsize=65_536)
def _room(character: str) -> int:
    """At least 1, also without a width: entities that share such a character must not look as if they only touched."""
    return _BETWEEN_LINES if character == "\n" else max(advance(character), 1)


def rows(order: Sequence[int], footprints: Sequence[Span]) -> list[int]:
    """The row of every entity of one line, given their tracks: below all overlapping entities of lower tracks.

    Overlapping entities thus keep the order of their tracks, and no two of a row overlap.
    """
    placed = _Footprints()
    chosen = [0] * len(order)
    for member in sorted(range(len(order)), key=lambda number: (order[number], footprints[number])):
        chosen[member] = 1 + max([chosen[other] for other in placed.overlapping(footprints[member])], default=-1)
        placed.add(footprints[member], member)
    return chosen
