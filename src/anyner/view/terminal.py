"""A document drawn for the terminal: the text, and under it every entity as a bar on its track."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from anyner.document import Document, Entity
from anyner.errors import InvalidInputError
from anyner.view.colours import colour_of
from anyner.view.drawing import Line, Span, columns, for_terminal, lines, near, on_lines, rows, tracks

SMALLEST_WIDTH = 10
_SOLID, _DASHED, _OPENS, _CLOSES, _ONE_COLUMN = "─╌╰╯╵"
_AFTER, _BEFORE = -1, -2


def draw(document: Document, width: int = 100, colour: bool = True) -> str:
    """The text wrapped to `width` columns, and under each line its entities, inner ones nearest to the text.

    The fragments of a discontinuous entity are solid and joined by a dashed line; an entity that continues on the next
    line is drawn on both. Control characters of the text and of labels are shown as symbols. Right-to-left text is
    drawn in logical order.

        pain in the hip and the knees
        ╰───Symptom───╯
        ╰──╯╌╌╌╌╌╌Symptom╌╌╌╌╌╌╌╰───╯
    """
    if width < SMALLEST_WIDTH:
        raise InvalidInputError(f"width: expected at least {SMALLEST_WIDTH} columns, got {width}")
    order = tracks(document)
    wrapped = list(lines(document.text, width, _width))
    drawn: list[str] = []
    for line, places in zip(wrapped, on_lines(((line.start, line.reach) for line in wrapped), document.entities), strict=True):
        drawn.append("".join(map(for_terminal, document.text[line.start : line.end])))
        if places:
            bars = [_bar(document.entities[place], line, width) for place in places]
            drawn.extend([*_rows(bars, [order[place] for place in places], colour), ""])
    return "\n".join(drawn).rstrip("\n")


def _width(character: str) -> int:
    return columns(for_terminal(character))


def _columns_of(line: Line, fragment: Span) -> Span:
    """The columns of the part of a fragment that lies on this line; one at least, even for a combining mark."""
    first = line.offsets[min(max(fragment[0], line.start), line.end) - line.start]
    last = line.offsets[min(fragment[1], line.end) - line.start]
    return (first, last) if first < last else (max(last - 1, 0), max(last, 1))


@dataclass(frozen=True, slots=True)
class _Bar:
    """An entity's bar on one line with its label, as printed from `column` on."""

    entity: Entity
    column: int
    printed: str
    footprint: Span


def _bar(entity: Entity, line: Line, width: int) -> _Bar:
    start, end = _columns_of(line, (entity.start, entity.end))
    cells = [_DASHED] * (end - start)
    for fragment in near(entity.fragments, line.start, line.end):
        if fragment[0] >= line.end or fragment[1] <= line.start:
            continue
        first, last = _columns_of(line, fragment)
        if first < start:  # it has no width, as a zero-width space, and is the first fragment
            first, last = start, start + 1
        cells[first - start : last - start] = _SOLID * (last - first)
        opens, closes = fragment[0] >= line.start, fragment[1] <= line.end
        if opens:
            cells[first - start] = _OPENS
        if closes:
            cells[last - start - 1] = _ONE_COLUMN if opens and last - first == 1 else _CLOSES
    return _labelled("".join(cells), start, entity, width)


def _labelled(cells: str, start: int, entity: Entity, width: int) -> _Bar:
    """The bar with its label: inside, in a gap, after or before it, where it fits first; else truncated where most fits."""
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


def _rows(bars: list[_Bar], order: list[int], colour: bool) -> Iterator[str]:
    chosen = rows(order, [bar.footprint for bar in bars])
    printed: list[list[_Bar]] = [[] for _ in range(max(chosen) + 1)]
    for bar, row in zip(bars, chosen, strict=True):
        printed[row].append(bar)
    for own in printed:
        parts, column = [], 0
        for bar in sorted(own, key=lambda bar: bar.column):
            parts += [" " * (bar.column - column), _coloured(bar) if colour else bar.printed]
            column = bar.column + columns(bar.printed)
        yield "".join(parts)


def _coloured(bar: _Bar) -> str:
    return f"\x1b[38;5;{colour_of(bar.entity.label).terminal}m{bar.printed}\x1b[0m"
