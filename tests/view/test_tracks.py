"""Tracks never overlap, and inner entities lie nearer to the text."""

import unicodedata
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.document import Document, Entity
from anyner.view.directions import has_right_to_left
from anyner.view.drawing import Span, allocate, tracks

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)).map(lambda pair: (pair[0], pair[0] + pair[1])))


def overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


@given(covers=SPANS)
def test_entities_of_one_track_do_not_overlap(covers: list[Span]) -> None:
    placed = list(zip(covers, allocate(covers), strict=True))
    for (one, first), (other, second) in combinations(placed, 2):
        assert first != second or not overlap(one, other)


@given(covers=SPANS)
def test_an_entity_lies_below_all_that_it_contains(covers: list[Span]) -> None:
    placed = list(zip(covers, allocate(covers), strict=True))
    for inner, near in placed:
        for outer, far in placed:
            if inner != outer and outer[0] <= inner[0] and inner[1] <= outer[1]:
                assert near < far


@given(covers=SPANS)
def test_no_track_is_left_empty(covers: list[Span]) -> None:
    tracks = set(allocate(covers))
    assert tracks == set(range(len(tracks)))


@given(pairs=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(0, 3), st.integers(0, 9))))
def test_footprints_do_not_overlap_either(pairs: list[tuple[int, int, int, int]]) -> None:
    covers = [(start, start + length) for start, length, _, _ in pairs]
    footprints = [(start - before, start + length + after) for start, length, before, after in pairs]
    tracks = allocate(covers, footprints)
    for (one, first), (other, second) in combinations(zip(footprints, tracks, strict=True), 2):
        assert first != second or not overlap(one, other)
    for inner, near in zip(covers, tracks, strict=True):
        for outer, far in zip(covers, tracks, strict=True):
            if inner != outer and outer[0] <= inner[0] and inner[1] <= outer[1]:
                assert near < far


def test_examples() -> None:
    assert allocate([]) == []
    assert allocate([(0, 4), (5, 9), (9, 12)]) == [0, 0, 0]
    assert allocate([(0, 29), (0, 15), (12, 15), (24, 29)]) == [2, 1, 0, 0]
    assert allocate([(0, 6), (4, 10), (8, 14), (12, 18)]) == [0, 1, 0, 1]
    assert allocate([(0, 4), (5, 9)], [(0, 8), (5, 9)]) == [0, 1]


def test_many_entities_on_one_word() -> None:
    assert sorted(allocate([(0, 5)] * 200)) == list(range(200))


@pytest.mark.parametrize(
    ("text", "over", "under"),
    [
        ("see אבג דה now", "see", "דה"),
        ("אבג abc def זחט", "אבג", "def"),
        ("he said שלום 12 עולם ok then", "said", "עולם"),
        ("he said שלום 12 עולם ok then", "12", "ok"),
    ],
)
def test_a_label_that_leaves_its_right_to_left_run_has_a_track_of_its_own(text: str, over: str, under: str) -> None:
    starts = (text.index(word) for word in (over, under))
    spans = [(start, start + len(word)) for start, word in zip(starts, (over, under), strict=True)]
    one, other = tracks(Document(text, tuple(Entity("Organisation", (span,)) for span in spans)))
    assert one != other


def test_words_that_run_with_their_paragraph_share_a_track() -> None:
    for text in ("one and another", "שלום ו עולם"):
        words = [Entity("A", ((0, 3),)), Entity("A", ((len(text) - 4, len(text)),))]
        assert tracks(Document(text, tuple(words))) == [0, 0]


def test_all_characters_from_right_to_left_are_known() -> None:
    for code in range(0x110000):
        if unicodedata.bidirectional(chr(code)) in ("R", "AL"):
            assert has_right_to_left(chr(code)), hex(code)
