"""Documents as one SVG picture, for papers, slides and pages that take images.

The position of every character is fixed here: lines are wrapped, right-to-left text is put in visual order, and each word is
stretched to its planned width, so bars and labels fit in every viewer. Colours follow a dark theme.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise

from anyner.document import Document, Entity
from anyner.view.colours import PALETTE, colour_of
from anyner.view.directions import levels, right_to_left
from anyner.view.drawing import (
    EM,
    LABEL_SIZE,
    TEXT_SIZE,
    Line,
    Span,
    advance,
    label_advance,
    lines,
    near,
    on_lines,
    rows,
    tracks,
    visible,
)
from anyner.view.html import PITCH, hint

_MARGIN, _LINE, _BASELINE = 16, 27, 19
"""Margin, line height, and baseline below the top of a line, in pixels."""
_FONT = "Helvetica, Arial, 'Liberation Sans', 'Noto Sans', 'Noto Sans CJK SC', sans-serif"
_PIECES = re.compile(r"\s*\S+\s*|\s+")
STYLE = (
    "".join(f".c{colour.number}{{fill:{colour.light};stroke:{colour.light}}}" for colour in PALETTE)
    + ".ink{fill:#1c1d20}.dim{fill:#65676e}.paper{fill:#fff}.grid{stroke:#e4e4e0}"
    + ".guide{stroke:#8f9197}.tag{stroke:none}.curve{fill:none}"
    + "@media (prefers-color-scheme:dark){"
    + "".join(f".c{colour.number}{{fill:{colour.dark};stroke:{colour.dark}}}" for colour in PALETTE)
    + ".ink{fill:#e7e7e4}.dim{fill:#9a9ca3}.paper{fill:#1b1d21}.grid{stroke:#2e3137}.tag{stroke:none}.curve{fill:none}}"
)
"""Shared with charts."""


def render(documents: Iterable[Document], width: int = 800) -> str:
    """One picture, `width` pixels wide, with the documents one below the other."""
    shapes: list[str] = []
    y = _MARGIN
    for document in documents:
        if document.id:
            name = " ".join(visible(document.id).split())
            shapes.append(f'<text class="dim" x="{_MARGIN}" y="{y + 9}" font-size="11">{escape(name)}</text>')
            y += 14
        hints = [escape(hint(entity)) for entity in document.entities]
        for line in picture_lines(document, width - 2 * _MARGIN):
            shapes.extend(_drawn(line, document.text, hints, y))
            y += _LINE + PITCH * line.depth
        y += 8
    return framed("\n".join(shapes), width, y - 8 + _MARGIN, "Entities")


def framed(body: str, width: int, height: int, title: str) -> str:
    """A complete SVG file."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="{_FONT}"><title>{escape(visible(title))}</title><style>{STYLE}</style>\n'
        f'<rect class="paper" width="{width}" height="{height}"/>\n{body}\n</svg>\n'
    )


@dataclass(frozen=True, slots=True)
class Run:
    """Characters `[start, end)` of a line that run in one direction, and their left edge in pixels."""

    start: int
    end: int
    left: float
    backwards: bool


@dataclass(frozen=True, slots=True)
class Box:
    """An entity on one line: its solid stretches, its edges and those of its label, in pixels."""

    number: int
    entity: Entity
    row: int
    solid: list[tuple[float, float]]
    left: float
    right: float
    label_left: float
    label_right: float


@dataclass(frozen=True, slots=True)
class PictureLine:
    runs: list[Run]
    line: Line
    boxes: list[Box]
    backwards: bool
    """Whether its paragraph runs from right to left."""

    @property
    def depth(self) -> int:
        return max((box.row + 1 for box in self.boxes), default=0)


def picture_lines(document: Document, width: int) -> Iterator[PictureLine]:
    """The lines of a document, wrapped to `width` pixels and laid out."""
    order = tracks(document)
    wrapped = list(lines(document.text, width * EM // TEXT_SIZE, advance))
    shown = on_lines(((line.start, line.reach) for line in wrapped), document.entities)
    for line, places in zip(wrapped, shown, strict=True):
        text = document.text[line.start : line.end]
        backwards = right_to_left(document.text, line.start)
        runs = _runs(text, line.offsets, backwards, width)
        bars = [_bar(document.entities[place], line, runs, backwards, width) for place in places]
        footprints = [(round(100 * min(bar[1], bar[3])), round(100 * max(bar[2], bar[4]))) for bar in bars]
        taken = rows([order[place] for place in places], footprints)
        boxes = [Box(place, document.entities[place], row, *bar) for place, row, bar in zip(places, taken, bars, strict=True)]
        yield PictureLine(runs, line, boxes, backwards)


def _bar(
    entity: Entity, line: Line, runs: Sequence[Run], backwards: bool, width: int
) -> tuple[list[tuple[float, float]], float, float, float, float]:
    """Its solid stretches, its left and right edge, and those of its label."""
    fragments = near(entity.fragments, line.start, line.end)
    solid = _joined([stretch for fragment in fragments for stretch in _stretches(fragment, line, runs)])
    # Without any: only white space that is not printed.
    ends = _stretches((entity.start, entity.end), line, runs) or [(_pixels(line.offsets[-1]),) * 2]
    left, right = min(end[0] for end in ends), max(end[1] for end in ends)
    if left == right:  # a combining mark has no width of its own
        right = left + 3
        solid = [(left, right)]
    room = _pixels(label_advance(entity.label))
    label_left = right - room if backwards else left
    label_left = max(0.0, min(label_left, width - room))
    return solid, left, right, label_left, label_left + room


def _stretches(span: Span, line: Line, runs: Sequence[Run]) -> list[tuple[float, float]]:
    """Where the characters of a span lie on a line, in pixels: one stretch in every run."""
    stretches = []
    for run in runs:
        first, last = max(span[0] - line.start, run.start), min(span[1] - line.start, run.end)
        if first < last:
            before = (
                line.offsets[run.end] - line.offsets[last] if run.backwards else line.offsets[first] - line.offsets[run.start]
            )
            left = run.left + _pixels(before)
            stretches.append((left, left + _pixels(line.offsets[last] - line.offsets[first])))
    return stretches


def _joined(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for left, right in sorted(spans):
        if merged and left <= merged[-1][1] + 0.01:
            merged[-1] = (merged[-1][0], max(right, merged[-1][1]))
        else:
            merged.append((left, right))
    return merged


def _pixels(width: int) -> float:
    return width * TEXT_SIZE / EM


def _drawn(line: PictureLine, text: str, hints: Sequence[str], y: int) -> Iterator[str]:
    start, end = line.line.start, line.line.end
    cuts = {place for box in line.boxes for fragment in near(box.entity.fragments, start, end) for place in fragment}
    for run in line.runs:
        yield from _words(run, line.line, text, cuts, y + _BASELINE)
    for box in line.boxes:
        top = y + _LINE - 2 + box.row * PITCH
        colour = colour_of(box.entity.label).number
        yield f'<g class="c{colour}" data-e="{box.number}"><title>{hints[box.number]}</title>'
        for left, right in _holes(box):
            yield f'<line class="gap" x1="{_x(left)}" x2="{_x(right)}" y1="{top + 1.5}" y2="{top + 1.5}" stroke-dasharray="3"/>'
        for left, right in box.solid:
            yield f'<rect class="tag" x="{_x(left)}" y="{top}" width="{max(right - left - 1, 1):.1f}" height="3"/>'
        shown, anchor, x = _shortened(box.entity.label), "start", box.label_left
        if line.backwards:
            anchor, x = "end", box.label_right
        # A label runs from left to right in any paragraph, so `end` is always its right edge.
        yield (
            f'<text class="tag" x="{_x(x)}" y="{top + 12.5}" font-size="{LABEL_SIZE}" font-weight="600" direction="ltr" '
            f'text-anchor="{anchor}">{escape(shown)}</text></g>'
        )


def _x(pixels: float) -> str:
    return f"{_MARGIN + pixels:.1f}"


def _holes(box: Box) -> list[tuple[float, float]]:
    """The gaps between the solid stretches, and before and after them where the entity continues on another line."""
    edges = [box.left, *(edge for stretch in box.solid for edge in stretch), box.right]
    return [(left, right) for left, right in zip(edges[::2], edges[1::2], strict=True) if right - left > 0.1]


def _shortened(label: str) -> str:
    """As much of a label as `label_advance` has room for."""
    label, used = " ".join(visible(label).split()), 0
    room = label_advance(label) * TEXT_SIZE // LABEL_SIZE
    for place, character in enumerate(label):
        used += 1100 * advance(character) // EM
        if used > room:
            return label[: place - 1] + "…"
    return label


def _words(run: Run, line: Line, text: str, cuts: set[int], baseline: int) -> Iterator[str]:
    """The words of a run, cut where entities begin and end, each at its position and planned width."""
    first, last = line.start + run.start, line.start + run.end
    edges = sorted({first, last, *(cut for cut in cuts if first < cut < last)})
    for start, end in pairwise(edges):
        for word in _PIECES.finditer(text, start, end):
            begin, stop = (line.offsets[place - line.start] - line.offsets[run.start] for place in word.span())
            wide = _pixels(line.offsets[run.end] - line.offsets[run.start])
            x = run.left + (wide - _pixels(begin) if run.backwards else _pixels(begin))
            direction = ' direction="rtl"' if run.backwards else ""
            if word[0].strip() and stop > begin:
                shown = visible(word[0].rstrip().replace("\t", " "))
                lost = sum(map(advance, word[0])) - sum(map(advance, word[0].rstrip()))
                length = f' textLength="{_pixels(stop - begin - lost):.1f}" lengthAdjust="spacingAndGlyphs"'
                yield (
                    f'<text class="ink" x="{_x(x)}" y="{baseline}" font-size="{TEXT_SIZE}"{direction}{length} '
                    f'xml:space="preserve">{escape(shown)}</text>'
                )


def _runs(text: str, offsets: Sequence[int], backwards: bool, width: int) -> list[Run]:
    """The stretches of one direction, in visual order."""
    level_of = levels(text, backwards)
    stretches: list[Span] = []
    place = 0
    for _, group in groupby(level_of):
        size = sum(1 for _ in group)
        stretches.append((place, place + size))
        place += size
    for level in range(max(level_of, default=0), 0, -1):  # rule L2 (Unicode bidi): reverse what is on this level or above
        turned: list[Span] = []
        for high, together in groupby(stretches, key=lambda span: level_of[span[0]] >= level):
            group_of = list(together)
            turned += reversed(group_of) if high else group_of
        stretches = turned
    x = width - _pixels(offsets[-1]) if backwards else 0.0
    runs = []
    for start, end in stretches:
        runs.append(Run(start, end, x, level_of[start] % 2 == 1))
        x += _pixels(offsets[end] - offsets[start])
    return runs
