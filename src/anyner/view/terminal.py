"""A document drawn for the terminal: the text, and under it every entity as a bar on its track."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from zlib import crc32

from anyner.document import Document, Entity
from anyner.errors import InvalidInputError
from anyner.view.drawing import Span, allocate, columns, for_terminal, near, on_lines

SMALLEST_WIDTH = 10
_SOLID, _DASHED, _OPENS, _CLOSES, _ONE_COLUMN = "─╌╰╯╵"
_AFTER, _BEFORE = -1, -2
_BLANKS = re.compile(r"\s*")
# Colours of the 256-colour palette that can be read on a dark and on a light ground.
_PALETTE = (33, 166, 64, 161, 37, 136, 99, 160, 30, 130, 133, 28, 168, 67, 101, 63)


def draw(document: Document, width: int = 100, colour: bool = True) -> str:
    """The text wrapped to `width` columns, and under each line its entities, inner ones nearest to the text.

    The fragments of a discontinuous entity are solid and joined by a dashed line; an entity that goes on in the next
    line is drawn on both. Control characters of the text and of labels are shown as pictures. Right-to-left text is
    drawn in logical order.

        pain in the hip and the knees
        ╰───Symptom───╯
        ╰──╯╌╌╌╌╌╌Symptom╌╌╌╌╌╌╌╰───╯
    """
    if width < SMALLEST_WIDTH:
        raise InvalidInputError(f"width {width} is too narrow to draw in: at least {SMALLEST_WIDTH}")
    lines = list(_lines(document.text, width))
    drawn: list[str] = []
    for line, places in zip(lines, on_lines(((line.start, line.end) for line in lines), document.entities), strict=True):
        drawn.append(line.printed)
        if places:
            bars = [_bar(document.entities[place], line, width) for place in places]
            drawn.extend([*_rows(bars, colour), ""])
    return "\n".join(drawn).rstrip("\n")


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of the page: characters `[start, end)` of the text and the column at which each of them begins."""

    start: int
    end: int
    printed: str
    offsets: Sequence[int]

    def columns_of(self, fragment: Span) -> Span:
        """The columns of the part of a fragment that lies on this line; one at least, even for a combining mark."""
        first = self.offsets[max(fragment[0], self.start) - self.start]
        last = self.offsets[min(fragment[1], self.end) - self.start]
        return (first, last) if first < last else (max(last - 1, 0), max(last, 1))


@dataclass(frozen=True, slots=True)
class _Bar:
    """An entity's bar on one line with its label, as printed from `column` on."""

    entity: Entity
    column: int
    printed: str
    footprint: Span


def _lines(text: str, width: int) -> Iterator[_Line]:
    start = 0
    for paragraph in text.split("\n"):
        end = start + len(paragraph)
        place, stop = start, end - paragraph.endswith("\r")
        while True:
            cut, following = _cut(text, place, stop, width)
            pictures = [for_terminal(character) for character in text[place:cut]]
            yield _Line(place, cut, "".join(pictures), tuple(accumulate(map(columns, pictures), initial=0)))
            if following >= stop:
                break
            place = following
        start = end + 1


def _cut(text: str, start: int, stop: int, width: int) -> Span:
    """Where the line that begins at `start` ends, and where the next one begins: white space between is not printed."""
    used, best = 0, start
    for place in range(start, stop):
        taken = columns(for_terminal(text[place]))
        if used + taken > width:
            end = place if text[place].isspace() or best == start else best
            return start + len(text[start:end].rstrip()), _BLANKS.match(text, end, stop).end()  # type: ignore[union-attr]
        used += taken
        if text[place].isspace() or taken == 2 or (taken == 0 and best == place):
            best = place + 1
    return stop, stop


def _bar(entity: Entity, line: _Line, width: int) -> _Bar:
    start, end = line.columns_of((entity.start, entity.end))
    cells = [_DASHED] * (end - start)
    for fragment in near(entity.fragments, line.start, line.end):
        if fragment[0] >= line.end or fragment[1] <= line.start:
            continue
        first, last = line.columns_of(fragment)
        cells[first - start : last - start] = _SOLID * (last - first)
        opens, closes = fragment[0] >= line.start, fragment[1] <= line.end
        if opens:
            cells[first - start] = _OPENS
        if closes:
            cells[last - start - 1] = _ONE_COLUMN if opens and last - first == 1 else _CLOSES
    return _labelled("".join(cells), start, entity, width)


def _labelled(cells: str, start: int, entity: Entity, width: int) -> _Bar:
    """The bar with its label: inside where it fits, in a gap, after, before, or else shortened where there is most room."""
    end = start + len(cells)
    label = _printed_label(entity.label, width // 2)
    places = [(len(run[0]), run.start()) for run in re.finditer(f"{_SOLID}+", cells)]
    places += [(len(run[0]) - 2, run.start() + 1) for run in re.finditer(f"{_DASHED}{{3,}}", cells)]
    places += [(width - end - 1, _AFTER), (start - 1, _BEFORE)]
    room, place = next((found for found in places if found[0] >= columns(label)), max(places))
    label = _shortened(label, room)
    needed = columns(label)
    if not label:
        return _Bar(entity, start, cells, (start, end))
    if place == _AFTER:
        return _Bar(entity, start, f"{cells} {label}", (start, end + needed + 2))
    if place == _BEFORE:
        return _Bar(entity, start - needed - 1, f"{label} {cells}", (start - needed - 2, end))
    place += (room - needed) // 2
    return _Bar(entity, start, cells[:place] + label + cells[place + needed :], (start, end))


@lru_cache(maxsize=1024)
def _printed_label(label: str, room: int) -> str:
    return _shortened("".join(map(for_terminal, label)), room)


def _shortened(label: str, room: int) -> str:
    used = kept = 0
    for place, character in enumerate(label):
        used += columns(character)
        if used > room:
            return f"{label[:kept]}…" if room > 0 else ""
        if used < room:
            kept = place + 1
    return label if room >= 0 else ""


def _rows(bars: list[_Bar], colour: bool) -> Iterator[str]:
    tracks = allocate([(bar.entity.start, bar.entity.end) for bar in bars], [bar.footprint for bar in bars])
    rows: list[list[_Bar]] = [[] for _ in range(max(tracks) + 1)]
    for bar, track in zip(bars, tracks, strict=True):
        rows[track].append(bar)
    for own in rows:
        row, column = [], 0
        for bar in sorted(own, key=lambda bar: bar.column):
            row += [" " * (bar.column - column), _coloured(bar) if colour else bar.printed]
            column = bar.column + columns(bar.printed)
        yield "".join(row)


def _coloured(bar: _Bar) -> str:
    """In the colour of the label, which depends on nothing but its name."""
    number = crc32(bar.entity.label.encode(errors="backslashreplace"))  # a lone surrogate has no bytes of its own
    return f"\x1b[38;5;{_PALETTE[number % len(_PALETTE)]}m{bar.printed}\x1b[0m"
