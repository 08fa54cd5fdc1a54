"""Documents as one self-contained HTML page.

Under the text every entity has a bar on its track. Bars are backgrounds of inline text, so they wrap with it, in either
direction; the page is written document by document, the legend last (and shown first), so any number can be streamed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import TextIO

from jinja2 import Environment, StrictUndefined, Template

from anyner.document import Document, Entity
from anyner.fragments import Fragments
from anyner.view.drawing import allocate, near, on_lines, visible_control

# A label is set smaller than the text: so many characters of text one character of a label is wide.
_LABEL_WIDTH = 0.75
_GOLDEN_ANGLE = 137.508
_LONGEST_HINT = 120


def render(documents: Iterable[Document], title: str = "Entities") -> str:
    """The whole page as one string."""
    return "".join(_chunks(documents, title))


def write(documents: Iterable[Document], file: TextIO, title: str = "Entities") -> None:
    """The page written to an open text file (UTF-8), one document after the other."""
    for chunk in _chunks(documents, title):
        file.write(chunk)


@dataclass(slots=True)
class LegendEntry:
    """One label of the page; its number, in order of first appearance, decides its colour."""

    number: int
    label: str
    count: int = 0

    @property
    def hue(self) -> int:
        return round(215 + self.number * _GOLDEN_ANGLE) % 360

    @property
    def lighter(self) -> int:
        """Percent of lightness more than usual, so that neighbouring hues are still told apart."""
        return (0, 5, -8)[self.number % 3]


@dataclass(frozen=True, slots=True)
class Placed:
    """An entity with its number in the document, the number of its label, its track and its tooltip."""

    number: int
    entity: Entity
    label: int
    track: int
    hint: str


@dataclass(frozen=True, slots=True)
class Bar:
    """The piece of an entity's bar under one segment."""

    placed: Placed
    solid: bool
    touched: bool
    """Whether another entity of the same track follows directly, so that a small space must separate them."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text under which the same bars run, and the entities whose labels are set at its start."""

    text: str
    bars: list[Bar]
    tags: list[Placed]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the document's text with as many tracks as it needs."""

    tracks: int
    segments: list[Segment]


def _chunks(documents: Iterable[Document], title: str) -> Iterator[str]:
    legend: dict[str, LegendEntry] = {}
    articles = ((document, _lines(document, legend)) for document in documents)
    return _template().generate(title=title, articles=articles, legend=legend)


@cache
def _template() -> Template:
    source = files("anyner.view").joinpath("static", "page.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["visible"] = _visible
    return environment.from_string(source)


def _lines(document: Document, legend: dict[str, LegendEntry]) -> list[Line]:
    entities = document.entities
    for entity in entities:
        legend.setdefault(entity.label, LegendEntry(len(legend), entity.label)).count += 1
    covers = [(entity.start, entity.end) for entity in entities]
    labelled = [
        (start, max(end, start + round(_LABEL_WIDTH * len(e.label)) + 1))
        for e, (start, end) in zip(entities, covers, strict=True)
    ]
    tracks = allocate(covers, labelled)
    placed = [Placed(n, entity, legend[entity.label].number, tracks[n], _hint(entity)) for n, entity in enumerate(entities)]
    lengths = [len(line) + 1 for line in document.text.split("\n")]
    spans = [(stop - length, stop - 1) for length, stop in zip(lengths, accumulate(lengths), strict=True)]
    # The line break before a line counts as its own, so an entity that begins with one is still labelled.
    with_break = ((start - 1, stop) for start, stop in spans)
    return [
        _line(document.text, start, max(start, stop - document.text.endswith("\r", start, stop)), [placed[n] for n in shown])
        for (start, stop), shown in zip(spans, on_lines(with_break, entities), strict=True)
    ]


def _line(text: str, start: int, end: int, shown: list[Placed]) -> Line:
    edges = {start, end}
    for placed in shown:
        fragments = near(placed.entity.fragments, start, end)
        edges.update(place for fragment in fragments for place in fragment if start < place < end)
    cuts = sorted(edges)
    begins = {(placed.entity.start, placed.track) for placed in shown}
    segments = [Segment(text[cut:following], [], []) for cut, following in pairwise([*cuts, end])]
    for placed in sorted(shown, key=lambda placed: placed.track):
        for solid, (first, last) in _stretches(near(placed.entity.fragments, start, end)):
            for place in range(bisect_left(cuts, max(first, start)), bisect_left(cuts, min(last, end))):
                segments[place].bars.append(Bar(placed, solid, (cuts[place + 1], placed.track) in begins))
    for placed in shown:
        if placed.entity.start >= start - 1:
            segments[bisect_left(cuts, min(max(placed.entity.start, start), end))].tags.append(placed)
    return Line(max((placed.track + 1 for placed in shown), default=0), [one for one in segments if one.text or one.tags])


def _stretches(fragments: Fragments) -> Iterator[tuple[bool, tuple[int, int]]]:
    """The fragments, solid, and the gaps between them, not solid, in order."""
    previous = fragments[0][0]
    for start, end in fragments:
        if previous < start:
            yield False, (previous, start)
        yield True, (start, end)
        previous = end


def _visible(text: str) -> str:
    return "".join(c if c == "\t" else visible_control(c) for c in text)


def _hint(entity: Entity) -> str:
    score = "" if entity.score is None else f" {entity.score:.3f}"
    text = entity.text[:_LONGEST_HINT] + "…" * (len(entity.text) > _LONGEST_HINT)
    return _visible(f"{entity.label}{score}: {' '.join(text.split())}")
