"""Documents as HTML: one self-contained page, or a snippet for notebooks and reports.

Under the text every entity has a bar on its track. Bars are backgrounds of inline text, so they wrap with it, in either
direction, and every line is as deep as the entities on it need. The page is written document by document, the legend last
(and shown first), so any number can be streamed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, TextIO

from jinja2 import Environment, PackageLoader, StrictUndefined

from anyner.document import Document, Entity
from anyner.fragments import Fragments
from anyner.view.colours import PALETTE, Colour, colour_of
from anyner.view.drawing import near, on_lines, right_to_left, strong_direction, tracks, visible

PITCH = 16
"""Distance from one track to the next, in pixels."""
_BAR, _DASH = 3, 2
_LONGEST_HINT = 120


def render(documents: Iterable[Document], title: str = "Entities") -> str:
    """The whole page as one string."""
    return "".join(_chunks(documents, title))


def write(documents: Iterable[Document], file: TextIO, title: str = "Entities") -> None:
    """The page written to an open text file (UTF-8), one document after the other."""
    for chunk in _chunks(documents, title):
        file.write(chunk)


def piece(documents: Iterable[Document]) -> str:
    """The drawings and their style as an HTML snippet without script, for notebooks."""
    legend = Legend()
    articles = [(document, layout(document, legend)) for document in documents]
    return environment().get_template("piece.html").render(articles=articles, legend=legend)


def plain(document: Document, legend: Legend, stressed: Callable[[Entity], bool]) -> list[list[Any]]:
    """The lines as plain lists, from which the script of a page makes the same drawing; all but `stressed` entities are faint.

    A segment is either its text or a list of its text, its bars (label, track, solid 1 + touched 2 + faint 4) and its tags
    (label, track, backwards 1 + faint 4).
    """

    def bar(one: Bar) -> list[int]:
        flags = one.solid + 2 * one.touched + 4 * (not stressed(one.placed.entity))
        return [legend[one.placed.entity.label].number, one.placed.track, flags]

    def tag(one: Placed) -> list[int]:
        return [legend[one.entity.label].number, one.track, one.backwards + 4 * (not stressed(one.entity))]

    return [
        [
            [visible(one.text), [*map(bar, one.bars)], [*map(tag, one.tags)]] if one.bars or one.tags else visible(one.text)
            for one in segments
        ]
        for segments in layout(document, legend)
    ]


@dataclass(slots=True)
class LegendEntry:
    """One label of a page, numbered in the order of first appearance."""

    number: int
    label: str
    count: int = 0

    @property
    def colour(self) -> Colour:
        return colour_of(self.label)


class Legend(dict[str, LegendEntry]):
    """The labels of a page. Each has its own CSS variable, so that it can be hidden."""

    def add(self, label: str) -> LegendEntry:
        entry = self.setdefault(label, LegendEntry(len(self), label))
        entry.count += 1
        return entry

    @property
    def style(self) -> str:
        """The colours of the labels as CSS variables."""
        return "".join(f"--l{entry.number}:var(--p{entry.colour.number});" for entry in self.values())


@dataclass(frozen=True, slots=True)
class Placed:
    """An entity with its number in the document, its track, its colour in CSS and its tooltip."""

    number: int
    entity: Entity
    track: int
    colour: str
    hint: str
    backwards: bool
    """Whether it runs from right to left."""


@dataclass(frozen=True, slots=True)
class Bar:
    """The part of an entity's bar under one segment."""

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

    @property
    def depth(self) -> int:
        """The number of tracks that it needs."""
        return self.bars[-1].placed.track + 1

    @property
    def numbers(self) -> str:
        return " ".join(str(bar.placed.number) for bar in self.bars)

    @property
    def hints(self) -> str:
        return "\n".join(bar.placed.hint for bar in self.bars)

    @property
    def background(self) -> str:
        """The bars in CSS. Each is a background of its own, measured from the bottom of the deepest one."""
        images, sizes, places = [], [], []
        for bar in self.bars:
            colour, height = bar.placed.colour, _BAR if bar.solid else _DASH
            dashes = f"repeating-linear-gradient(90deg,{colour} 0 3px,transparent 3px 6px)"
            images.append(f"linear-gradient({colour} 0 0)" if bar.solid else dashes)
            sizes.append(f"{'calc(100% - 1.5px)' if bar.touched else '100%'} {height if bar.solid else 1.5}px")
            places.append(f"0 calc(100% - {(self.depth - bar.placed.track) * PITCH - height}px)")
        return f"background-image:{','.join(images)};background-size:{','.join(sizes)};background-position:{','.join(places)}"


def _chunks(documents: Iterable[Document], title: str) -> Iterator[str]:
    legend = Legend()
    articles = ((document, layout(document, legend)) for document in documents)
    return environment().get_template("page.html").generate(title=title, articles=articles, legend=legend)


@cache
def environment() -> Environment:
    """The Jinja environment; templates escape all values."""
    made = Environment(
        loader=PackageLoader("anyner.view", "static"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["visible"] = visible
    made.filters["colour"] = colour_of
    made.globals["palette"] = PALETTE
    return made


def layout(document: Document, legend: Legend) -> list[list[Segment]]:
    """The lines of a document, each in segments; its labels are added to the legend."""
    entities = document.entities
    placed = []
    for number, (entity, track) in enumerate(zip(entities, tracks(document), strict=True)):
        colour = f"var(--l{legend.add(entity.label).number})"
        placed.append(Placed(number, entity, track, colour, hint(entity), _backwards(entity, document.text)))
    lengths = [len(line) + 1 for line in document.text.split("\n")]
    spans = [(stop - length, stop - 1) for length, stop in zip(lengths, accumulate(lengths), strict=True)]
    # The line break before a line counts as part of it, so an entity that begins with one is still labelled.
    with_break = ((start - 1, stop) for start, stop in spans)
    return [
        _line(document.text, start, max(start, stop - document.text.endswith("\r", start, stop)), [placed[n] for n in shown])
        for (start, stop), shown in zip(spans, on_lines(with_break, entities), strict=True)
    ]


def _backwards(entity: Entity, text: str) -> bool:
    if text.isascii():
        return False
    start, end = entity.fragments[0]
    own = strong_direction(text[start : min(end, start + _LONGEST_HINT)])
    return own == "R" if own else right_to_left(text, start)


def _line(text: str, start: int, end: int, shown: list[Placed]) -> list[Segment]:
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
    return [one for one in segments if one.text or one.tags]


def _stretches(fragments: Fragments) -> Iterator[tuple[bool, tuple[int, int]]]:
    """The fragments, solid, and the gaps between them, not solid, in order."""
    previous = fragments[0][0]
    for start, end in fragments:
        if previous < start:
            yield False, (previous, start)
        yield True, (start, end)
        previous = end


def hint(entity: Entity) -> str:
    """One line about an entity: label, score and text."""
    score = "" if entity.score is None else f" {entity.score:.3f}"
    text = entity.text[:_LONGEST_HINT] + "…" * (len(entity.text) > _LONGEST_HINT)
    return visible(f"{entity.label}{score}: {' '.join(text.split())}")
