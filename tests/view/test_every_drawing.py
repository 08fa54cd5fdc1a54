"""Properties of HTML and SVG drawings of any document: everything is drawn, nothing collides, text is escaped."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_documents import documents

from anyner.document import Document, Entity
from anyner.view.drawing import visible
from anyner.view.html import Legend, layout, piece, render
from anyner.view.render import render as drawing
from anyner.view.svg import picture_lines
from anyner.view.terminal import draw

SVG = "{http://www.w3.org/2000/svg}"


@given(document=documents())
def test_html(document: Document) -> None:
    lines = layout(document, Legend())
    tagged = [tag.number for line in lines for segment in line for tag in segment.tags]
    assert sorted(tagged) == list(range(len(document.entities)))
    joined = defaultdict[int, list[bool]](list)
    for segment in (segment for line in lines for segment in line):
        on_track = [bar.placed.track for bar in segment.bars]
        assert len(on_track) == len(set(on_track))
        for bar in segment.bars:
            joined[bar.placed.number].append(bar.solid)
    breaks = document.text.replace("\r", "\n")
    for number, entity in enumerate(document.entities):
        between = [segment for line in lines for segment in line if segment.text]
        places = [place for place, segment in enumerate(between) if number in [bar.placed.number for bar in segment.bars]]
        assert places == list(range(places[0], places[-1] + 1)) if places else not breaks[entity.start : entity.end].strip("\n")
        gaps = [breaks[end:start].strip("\n") for (_, end), (start, _) in pairwise(entity.fragments)]
        assert any(not solid for solid in joined[number]) == any(gaps)


@given(document=documents())
def test_html_escapes_the_document(document: Document) -> None:
    for source in (render([document], title=document.id or "x"), piece([document])):
        assert source.count("<script") == source.count("</script") == (1 if source.startswith("<!DOCTYPE") else 0)
        assert "<C" not in source and "\x1b" not in source and "\x00" not in source
        source.encode()


@given(document=documents(), width=st.integers(60, 400))
def test_svg(document: Document, width: int) -> None:
    drawn = set()
    for line in picture_lines(document, width):
        rows = defaultdict[int, list[tuple[float, float]]](list)
        for box in line.boxes:
            drawn.add(box.number)
            rows[box.row].append((min(box.left, box.label_left), max(box.right, box.label_right)))
            edges = [box.left, *(edge for stretch in box.solid for edge in stretch), box.right]
            assert edges == sorted(edges)
        for spans in rows.values():
            assert all(one[1] <= other[0] + 0.02 for one, other in pairwise(sorted(spans)))
    assert drawn == set(range(len(document.entities)))


@given(document=documents(), width=st.integers(100, 400))
def test_svg_as_it_is_written(document: Document, width: int) -> None:
    root = ElementTree.fromstring(drawing(document).svg(width))
    assert {element.tag for element in root.iter()} <= {
        f"{SVG}{name}" for name in ("svg", "title", "style", "rect", "text", "g", "line")
    }
    groups = root.findall(f"{SVG}g")
    assert {int(group.attrib["data-e"]) for group in groups} == set(range(len(document.entities)))
    rows = defaultdict[float, list[tuple[float, float, str]]](list)
    for group in groups:
        stretches = []
        for bar in group.findall(f"{SVG}rect"):
            left = float(bar.attrib["x"])
            stretches.append((left, left + float(bar.attrib["width"])))
            rows[float(bar.attrib["y"])].append((*stretches[-1], group.attrib["data-e"]))
        stretches += [(float(gap.attrib["x1"]), float(gap.attrib["x2"])) for gap in group.findall(f"{SVG}line")]
        reached = min(stretches, default=(0.0, 0.0))[0]
        for left, right in sorted(stretches):  # a fragment ends a pixel early, so that neighbours stay distinct
            assert left <= reached + 1.21
            reached = max(reached, right)
    for bars in rows.values():
        for one, other in pairwise(sorted(bars)):
            assert one[2] == other[2] or one[1] <= other[0] + 0.11
    shown = "".join(word.text or "" for word in root.findall(f"{SVG}text") if word.attrib["class"] == "ink")
    letters = [c for c in visible(document.text) if not c.isspace() and c not in "␊␍␉"]
    for character in set(letters):
        if character.isalnum():
            assert shown.count(character) == letters.count(character)


def test_many_entities_in_one_paragraph_are_all_drawn() -> None:
    text = "pain in the hip and the knees " * 40
    spans = [(place, place + 4 + place % 23) for place in range(0, len(text) - 30, 3)]
    document = Document(text, tuple(Entity(f"L{place % 7}", (span,)) for place, span in enumerate(spans)))
    lines = list(picture_lines(document, 760))
    assert {box.number for line in lines for box in line.boxes} == set(range(len(spans)))
    for line in lines:
        for row in range(line.depth):
            own = sorted((min(b.left, b.label_left), max(b.right, b.label_right)) for b in line.boxes if b.row == row)
            assert all(one[1] <= other[0] + 0.02 for one, other in pairwise(own))
    assert max(line.depth for line in lines) < 25


@given(document=documents())
def test_the_terminal_and_svg_keep_the_order_of_the_tracks(document: Document) -> None:
    order = {tag.number: tag.track for line in layout(document, Legend()) for segment in line for tag in segment.tags}
    for line in picture_lines(document, 300):
        for one in line.boxes:
            for other in line.boxes:
                if one.left < other.right and other.left < one.right and order[one.number] < order[other.number]:
                    assert one.row < other.row
    if document.text.isprintable() and len(document.text) < 100:
        drawn = draw(document, 100, colour=False).split("\n")
        assert drawn[0] == document.text


def test_right_to_left_text_is_put_in_visual_order() -> None:
    text = "אבג IBM New York 12"
    (line,) = picture_lines(Document(text, (Entity("ORG", ((4, 7),)), Entity("LOC", ((8, 16),)), Entity("W", ((0, 3),)))), 400)
    boxes = {box.entity.label: box for box in line.boxes}
    assert boxes["W"].right == pytest.approx(400)
    assert boxes["ORG"].right <= boxes["LOC"].left < boxes["LOC"].right <= boxes["W"].left
    (english,) = picture_lines(Document("see אבג דה now", (Entity("A", ((4, 7),)), Entity("B", ((8, 10),)))), 400)
    first, second = english.boxes
    assert second.right <= first.left


def test_entities_from_right_to_left_are_labelled_at_their_right_end() -> None:
    source = piece([Document("אבג IBM 12", (Entity("W", ((0, 3),)), Entity("ORG", ((4, 7),)), Entity("N", ((8, 10),))))])
    assert [("tag r" in part.split(">")[0], part.split('data-label="')[1][0]) for part in source.split("<b ")[1:]] == [
        (True, "W"),
        (False, "O"),
        (True, "N"),
    ]
