"""Drawing time is linear in lines, entities and fragments; never in a product of them."""

import time
from collections.abc import Callable

import pytest

from anyner.document import Document, Entity
from anyner.view.drawing import tracks
from anyner.view.html import render
from anyner.view.svg import render as svg
from anyner.view.terminal import draw

LINE = "Anna went to Rome\n"


def one_entity_a_line(lines: int) -> Document:
    starts = range(0, lines * len(LINE), len(LINE))
    return Document(LINE * lines, tuple(Entity("PER", ((start, start + 4),)) for start in starts))


def one_fragment_a_line(lines: int) -> Document:
    starts = range(0, lines * len(LINE), len(LINE))
    return Document(LINE * lines, (Entity("PER", tuple((start, start + 4) for start in starts)),))


def one_entity_over_all_lines(lines: int) -> Document:
    return Document(LINE * lines, (Entity("ALL", ((0, lines * len(LINE)),)),))


def seconds(work: Callable[[Document], object], document: Document) -> float:
    def once() -> float:
        began = time.process_time()
        work(document)
        return time.process_time() - began

    return min(once() for _ in range(3))


@pytest.mark.parametrize("make", [one_entity_a_line, one_fragment_a_line, one_entity_over_all_lines])
@pytest.mark.parametrize(
    "work", [draw, lambda document: render([document]), lambda document: svg([document])], ids=["terminal", "html", "svg"]
)
def test_four_times_the_lines_take_four_times_the_time(
    make: Callable[[int], Document], work: Callable[[Document], object]
) -> None:
    assert seconds(work, make(1000)) < 8 * seconds(work, make(250))


def test_the_tracks_of_1500_nested_entities_are_found_at_once() -> None:
    nested = tuple(Entity("A", ((2 * place, 6000 - 2 * place),)) for place in range(1500))
    assert seconds(tracks, Document("w " * 3000, nested)) < 0.7


def test_a_very_long_label_is_shortened_in_one_pass() -> None:
    assert seconds(draw, Document("Rome", (Entity("é" * 8000, ((0, 4),)),))) < 0.5


def test_labels_and_ids_that_are_not_unicode_are_drawn() -> None:
    document = Document("Rome", (Entity("LO\udcffC", ((0, 4),)),), id="\udcff\x1b")
    assert draw(document).encode()
    assert "\x1b" not in render([document]).encode().decode()
