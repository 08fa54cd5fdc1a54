"""Words at the edges of gaps: found in real sentences, and as frequent among those that are made."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.text.align import WordEntity
from anyner.training.gap_edges import Edge, edges_of, like_real

IN: Edge = ("start", "in")
SEVERE: Edge = ("start", "severe")
CELLS: Edge = ("end", "cells")
drawn_edges = st.lists(st.sampled_from([IN, SEVERE, CELLS]), max_size=30)


def test_the_edge_is_the_innermost_word_that_is_shared() -> None:
    words = ["Pain", "in", "my", "hips", "and", "knees"]
    whole, knees = WordEntity("A", ((0, 4),)), WordEntity("A", ((0, 3), (5, 6)))
    assert list(edges_of(words, [whole, knees])) == [("start", "my")]
    words = ["normal", "and", "leukemic", "T", "Cells"]
    normal, leukemic = WordEntity("A", ((0, 1), (3, 5))), WordEntity("A", ((2, 5),))
    assert list(edges_of(words, [normal, leukemic])) == [("end", "t")]


def test_an_entity_can_share_both_sides_or_none() -> None:
    words = ["severe", "hip", "and", "knee", "pain"]
    hip, knee = WordEntity("A", ((0, 2), (4, 5))), WordEntity("A", ((0, 1), (3, 5)))
    assert list(edges_of(words, [hip, knee])) == [("end", "pain"), ("start", "hip"), ("end", "knee"), ("start", "severe")]
    assert not list(edges_of(words, [hip])) and not list(edges_of(words, [WordEntity("A", ((0, 5),))]))


@given(
    drawn_edges, st.dictionaries(st.sampled_from([IN, SEVERE, CELLS]), st.integers(1, 99)), st.integers(0, 40), st.integers(0, 9)
)
def test_as_many_as_are_wanted_are_drawn_each_once_and_always_the_same(
    made: list[Edge], real: dict[Edge, int], wanted: int, seed: int
) -> None:
    places = like_real(made, real, wanted, np.random.default_rng(seed))
    assert places == sorted(set(places)) and set(places) <= set(range(len(made)))
    assert len(places) == min(wanted, len(made))
    assert places == like_real(made, real, wanted, np.random.default_rng(seed))


def shares(made: list[Edge], real: dict[Edge, int]) -> dict[Edge, float]:
    """Of the edges among many that are drawn, of a pool that hardly gets smaller by it."""
    drawn = Counter(made[place] for seed in range(100) for place in like_real(made, real, 20, np.random.default_rng(seed)))
    return {edge: count / drawn.total() for edge, count in drawn.items()}


def test_edges_come_as_often_as_real_ones() -> None:
    made = [SEVERE] * 2000 + [IN] * 1000 + [CELLS] * 1000
    found = shares(made, {IN: 270, SEVERE: 30})
    assert found[CELLS] == pytest.approx(1 / 4, abs=0.03), "of the other side as often as they can be made"
    assert found[IN] == pytest.approx(3 / 4 * (270 + 30 / 3) / 330, abs=0.03)


def test_sides_come_as_often_as_they_are_made_also_where_real_edges_cannot_be() -> None:
    found = shares([SEVERE] * 1000 + [IN] * 1000 + [CELLS] * 2000, {("end", "genes"): 500, IN: 200})
    assert found[CELLS] == pytest.approx(1 / 2, abs=0.03)


def test_where_no_gaps_are_known_all_that_can_be_made_is_alike() -> None:
    found = shares([SEVERE] * 3000 + [IN] * 1000, {})
    assert found[SEVERE] == pytest.approx(3 / 4, abs=0.03)
