"""Documents as one self-contained HTML page.

Under the text every entity has a bar on its track. Bars are backgrounds of inline text, so they wrap with it, in either
direction; the page is written document by document, the legend last (and shown first), so any number can be streamed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TextIO

from jinja2 import Environment, StrictUndefined, Template

from anyner.document import Document, Entity
from anyner.fragments import Fragments
from anyner.view.characters import visible_control
from anyner.view.tracks import allocate, near

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
    """One label of the page."""

    number: int
    label: str
    hue: int
    lighter: int
    """Percent of lightness more than usual, so that neighbouring hues are still told apart."""
    count: int = 0


@dataclass(slots=True)
class Legend:
    """The labels in order of first appearance, each with its colour and how many entities have it."""

    entries: dict[str, LegendEntry] = field(default_factory=dict)

    def number(self, label: str) -> int:
        if label not in self.entries:
            position = len(self.entries)
            hue = round(215 + position * _GOLDEN_ANGLE) % 360
            self.entries[label] = LegendEntry(position, _shown(label), hue, lighter=(0, 5, -8)[position % 3])
        return self.entries[label].number

    def count(self, entity: Entity) -> None:
        self.number(entity.label)
        self.entries[entity.label].count += 1

    @property
    def by_label(self) -> list[LegendEntry]:
        return sorted(self.entries.values(), key=lambda entry: entry.label)


@dataclass(frozen=True, slots=True)
class Bar:
    """The piece of an entity's bar under one segment."""

    entity: int
    label: int
    track: int
    solid: bool
    touched: bool
    """Whether another entity of the same track follows directly, so that a small space must separate them."""


@dataclass(frozen=True, slots=True)
class Tag:
    """An entity's label, set at its start."""

    entity: int
    label: int
    track: int
    text: str
    hint: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text under which the same bars run."""

    text: str
    bars: tuple[Bar, ...]
    tags: tuple[Tag, ...]
    hint: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the document's text with as many tracks as it needs."""

    tracks: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Article:
    """A document, ready for the template."""

    id: str
    entities: int
    coverage: float
    lines: tuple[Line, ...]


def _chunks(documents: Iterable[Document], title: str) -> Iterator[str]:
    legend = Legend()
    articles = (_article(document, legend) for document in documents)
    return _template().generate(title=title, articles=articles, legend=legend)


@cache
def _template() -> Template:
    source = files("anyner.view").joinpath("static", "page.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(source)


def _article(document: Document, legend: Legend) -> Article:
    for entity in document.entities:
        legend.count(entity)
    covers = [(entity.start, entity.end) for entity in document.entities]
    labelled = [
        (entity.start, max(entity.end, entity.start + round(_LABEL_WIDTH * len(entity.label)) + 1))
        for entity in document.entities
    ]
    tracks = allocate(covers, labelled)
    numbered = [_Placed(number, entity, tracks[number], _hint(entity)) for number, entity in enumerate(document.entities)]
    lines = []
    shown: list[_Placed] = []
    start = coming = 0
    for content in document.text.split("\n"):
        stop = start + len(content)
        while coming < len(numbered) and numbered[coming].entity.start < stop:
            shown.append(numbered[coming])
            coming += 1
        # The line break before a line counts as its own, so an entity that begins with one is still labelled.
        shown = [placed for placed in shown if placed.entity.end > start or placed.entity.start >= start - 1]
        end = stop - content.endswith("\r")
        lines.append(_line(document.text, start, max(end, start), shown, legend))
        start = stop + 1
    return Article(_shown(document.id), len(document.entities), document.coverage, tuple(lines))


@dataclass(frozen=True, slots=True)
class _Placed:
    """An entity with its number, its track and its tooltip."""

    number: int
    entity: Entity
    track: int
    hint: str


def _line(text: str, start: int, end: int, shown: list[_Placed], legend: Legend) -> Line:
    edges = {start, end}
    for placed in shown:
        fragments = near(placed.entity.fragments, start, end)
        edges.update(place for fragment in fragments for place in fragment if start < place < end)
    cuts = sorted(edges)
    begins = {(placed.entity.start, placed.track) for placed in shown}
    bars: list[list[tuple[Bar, str]]] = [[] for _ in cuts]
    tags: list[list[Tag]] = [[] for _ in cuts]
    for placed in shown:
        number, entity, track = placed.number, placed.entity, placed.track
        label = legend.number(entity.label)
        for solid, (first, last) in _stretches(near(entity.fragments, start, end)):
            for place in range(bisect_left(cuts, max(first, start)), bisect_left(cuts, min(last, end))):
                bars[place].append((Bar(number, label, track, solid, (cuts[place + 1], track) in begins), placed.hint))
        if entity.start >= start - 1:
            tag = Tag(number, label, track, _shown(entity.label), placed.hint)
            tags[bisect_left(cuts, min(max(entity.start, start), end))].append(tag)
    segments = []
    for place, cut in enumerate(cuts):
        content = text[cut : cuts[place + 1]] if place + 1 < len(cuts) else ""
        inner_first = sorted(bars[place], key=lambda bar: bar[0].track)
        hint = "\n".join(hint for _, hint in inner_first)
        if content or tags[place]:
            segments.append(Segment(_shown(content), tuple(bar for bar, _ in inner_first), tuple(tags[place]), hint))
    return Line(max((placed.track + 1 for placed in shown), default=0), tuple(segments))


def _stretches(fragments: Fragments) -> Iterator[tuple[bool, tuple[int, int]]]:
    """The fragments, solid, and the gaps between them, not solid, in order."""
    previous = fragments[0][0]
    for start, end in fragments:
        if previous < start:
            yield False, (previous, start)
        yield True, (start, end)
        previous = end


def _shown(text: str) -> str:
    return "".join(c if c == "\t" else visible_control(c) for c in text)


def _hint(entity: Entity) -> str:
    score = "" if entity.score is None else f" {entity.score:.3f}"
    whole = entity.text
    text = whole if len(whole) <= _LONGEST_HINT else f"{whole[:_LONGEST_HINT]}…"
    return _shown(f"{entity.label}{score}: {' '.join(text.split())}")
