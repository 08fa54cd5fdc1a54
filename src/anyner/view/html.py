"""Documents as HTML: one self-contained page, or a snippet for notebooks and reports.

Under the text every entity has a bar on its track. Bars are backgrounds of inline text, so they wrap with it, in either
direction, and every line is as deep as the entities on it need. The page is written document by document, the legend last
(and shown first), so any number can be streamed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TextIO

from jinja2 import Environment, PackageLoader, StrictUndefined

from anyner.document import Document, Entity
from anyner.fragments import Fragment, Fragments
from anyner.view.colours import PALETTE, Colour, colour_of
from anyner.view.directions import has_right_to_left, runs_backwards
from anyner.view.drawing import near, on_lines, tracks, visible

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


def plain(lines: Iterable[Iterable[Segment]], stressed: Container[int]) -> list[list[Any]]:
    """A layout as plain lists, from which the script of a page makes the same drawing; all but `stressed` entities are faint.

    A segment is either its text or a list of its text, its bars (label, track, solid 1 + touched 2 + faint 4) and its tags
    (label, track, backwards 1 + faint 4).
    """

    def listed(one: Placed, flags: int) -> list[int]:
        return [one.label, one.track, flags if one.number in stressed else flags + 4]

    return [
        [
            [
                visible(text),
                [listed(bar.placed, bar.solid + 2 * bar.touched) for bar in bars],
                [listed(tag, int(tag.backwards)) for tag in tags],
            ]
            if bars or tags
            else visible(text)
            for text, bars, tags in segments
        ]
        for segments in lines
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


@dataclass(frozen=True)
class Placed:
    """An entity with its number in the document, its track and the number of its label in the legend."""

    number: int
    entity: Entity
    track: int
    label: int
    backwards: bool
    """Whether it runs from right to left."""

    @property
    def colour(self) -> str:
        """In CSS."""
        return f"var(--l{self.label})"

    @cached_property
    def hint(self) -> str:
        """The tooltip."""
        return hint(self.entity)


class Bar(NamedTuple):
    """The part of an entity's bar under one segment."""

    placed: Placed
    solid: bool
    touched: bool = False
    """Whether another entity of the same track follows directly, so that a small space must separate them."""


class Segment(NamedTuple):
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
        images, sizes, places, depth = [], [], [], self.depth
        for bar in self.bars:
            colour, height = bar.placed.colour, _BAR if bar.solid else _DASH
            dashes = f"repeating-linear-gradient(90deg,{colour} 0 3px,transparent 3px 6px)"
            images.append(f"linear-gradient({colour} 0 0)" if bar.solid else dashes)
            sizes.append(f"{'calc(100% - 1.5px)' if bar.touched else '100%'} {height if bar.solid else 1.5}px")
            places.append(f"0 calc(100% - {(depth - bar.placed.track) * PITCH - height}px)")
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
    mixed = has_right_to_left(document.text)
    placed = [
        Placed(
            number, entity, track, legend.add(entity.label).number, mixed and runs_backwards(document.text, entity.fragments[0])
        )
        for number, (entity, track) in enumerate(zip(entities, tracks(document), strict=True))
    ]
    lengths = [len(line) + 1 for line in document.text.split("\n")]
    spans = [(stop - length, stop - 1) for length, stop in zip(lengths, accumulate(lengths), strict=True)]
    # The line break before a line counts as part of it, so an entity that begins with one is still labelled.
    with_break = ((start - 1, stop) for start, stop in spans)
    return [
        _line(document.text, start, max(start, stop - document.text.endswith("\r", start, stop)), [placed[n] for n in shown])
        for (start, stop), shown in zip(spans, on_lines(with_break, entities), strict=True)
    ]


def _line(text: str, start: int, end: int, shown: list[Placed]) -> list[Segment]:
    parts = [(placed, near(placed.entity.fragments, start, end)) for placed in shown]
    edges = {place for _, fragments in parts for fragment in fragments for place in fragment if start < place < end}
    cuts = sorted({start, end, *edges})
    begins = {(placed.entity.start, placed.track) for placed in shown}
    segments = [Segment(text[cut:following], [], []) for cut, following in pairwise([*cuts, end])]
    for placed, fragments in sorted(parts, key=lambda part: part[0].track):
        for solid, (first, last) in _stretches(fragments):
            bar, under = Bar(placed, solid), segments[bisect_left(cuts, max(first, start)) : bisect_left(cuts, min(last, end))]
            for segment in under:
                segment.bars.append(bar)
            if under and (last, placed.track) in begins:
                under[-1].bars[-1] = Bar(placed, solid, touched=True)
    for placed in shown:
        if placed.entity.start >= start - 1:
            segments[bisect_left(cuts, min(max(placed.entity.start, start), end))].tags.append(placed)
    return [one for one in segments if one.text or one.tags]


def _stretches(fragments: Fragments) -> Iterator[tuple[bool, Fragment]]:
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
