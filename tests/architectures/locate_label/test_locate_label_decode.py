"""Soft-NMS equals Algorithm 1; perfect proposals give exactly the gold."""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from reference_iou import reference_iou

from anyner.architectures.locate_label.config import Config, LocateLabelOptions
from anyner.architectures.locate_label.decode import DECAY, decode
from anyner.architectures.settings import Decoding
from anyner.overlap import Policy, resolve
from anyner.text.align import WordEntity

LABELS = ("A", "B")
Place = tuple[int, int, int, int]


def decoding(policy: Policy = "all", score: float = 0.3, passing: float = 0.1, **options: Any) -> Decoding:
    return Decoding(LABELS, {"score": score, "filter": passing}, policy, Config(), LocateLabelOptions(**options))


def arrays(places: list[Place], scores: list[float], passed: list[float] | None = None) -> dict[str, NDArray[Any]]:
    """Proposals as the head returns them: sorted by sentence."""
    return {
        "place": np.array(places, dtype=np.int64).reshape(-1, 4),
        "score": np.array(scores, dtype=np.float32),
        "filter": np.array(passed or [1.0] * len(places), dtype=np.float32),
    }


spans = st.tuples(st.integers(0, 7), st.integers(0, 7)).map(lambda pair: (min(pair), max(pair)))
proposed = st.dictionaries(
    st.tuples(st.integers(0, 2), spans),
    st.tuples(st.integers(-1, 1), st.sampled_from([0.2, 0.3, 0.35, 0.5, 0.55, 0.75, 0.9, 1.0])),
    max_size=24,
)


def algorithm_1(places: list[Place], scores: list[float], u: float, k: float, delta: float) -> dict[Place, float]:
    """The best is taken, those that nearly equal it lose score and are put back in order, until none is left."""
    left = dict(zip(places, scores, strict=True))
    final: dict[Place, float] = {}
    while left:
        best = max(left, key=lambda place: (left[place], [-number for number in place[2:]]))
        final[best] = left.pop(best)
        for place in left:
            if reference_iou(best[2:], place[2:]) >= k:
                left[place] *= u
    return {place: score for place, score in final.items() if score >= delta}


@given(proposed, st.sampled_from([0.34, 0.5, 0.6, 0.9]), st.sampled_from([0.25, 0.3, 0.5]))
def test_soft_nms_equals_algorithm_1(
    chosen: dict[tuple[int, tuple[int, int]], tuple[int, float]], k: float, delta: float
) -> None:
    places = sorted((b, label, *span) for (b, span), (label, _) in chosen.items())
    places.sort(key=lambda place: (place[0], place[2], place[3]))
    scores = [float(np.float32(chosen[b, (first, last)][1])) for b, _, first, last in places]
    found = decode(arrays(places, scores), 3, decoding(score=delta, soft_nms=k))
    for number in range(3):
        mine = [(place, score) for place, score in zip(places, scores, strict=True) if place[0] == number and place[1] >= 0]
        expected = algorithm_1([place for place, _ in mine], [score for _, score in mine], DECAY, k, delta)
        got = {(number, LABELS.index(e.label), e.first, e.last): e.score for e in found[number]}
        assert got == pytest.approx(expected)


@given(st.sets(st.tuples(st.integers(0, 2), spans), max_size=12), st.sampled_from(["all", "nested", "flat"]))
def test_perfect_proposals_decode_to_exactly_the_gold(gold: set[tuple[int, tuple[int, int]]], policy: Policy) -> None:
    """Gold that satisfies the policy comes back complete, at a threshold below any decayed score."""
    entities = [[WordEntity("A", ((i, j + 1),), 1.0) for b, (i, j) in sorted(gold) if b == n] for n in range(3)]
    entities = [resolve(listed, policy) for listed in entities]
    allowed = [(b, 0, e.first, e.last) for b, listed in enumerate(entities) for e in listed]
    found = decode(arrays(allowed, [1.0] * len(allowed)), 3, decoding(policy, score=0.9**12))
    assert [{e.fragments for e in listed} for listed in found] == [{e.fragments for e in listed} for listed in entities]


def test_a_span_loses_score_to_a_better_one_that_it_nearly_equals() -> None:
    places, scores = [(0, 0, 0, 3), (0, 0, 0, 4), (0, 1, 9, 9)], [0.9, 0.55, 0.5]
    (found,) = decode(arrays(places, scores), 1, decoding(score=0.5, soft_nms=0.7))
    assert [(e.first, e.last) for e in found] == [(0, 3), (9, 9)]
    (found,) = decode(arrays(places, scores), 1, decoding(score=0.5, soft_nms=None))
    assert [(e.first, e.last) for e in found] == [(0, 3), (0, 4), (9, 9)]
    (found,) = decode(arrays(places, scores), 1, decoding(score=0.5, soft_nms=0.81))
    assert len(found) == 3


def test_spans_below_the_filter_threshold_are_dropped() -> None:
    proposals = arrays([(0, 0, 0, 0), (0, 0, 2, 2)], [0.9, 0.9], [0.2, 0.4])
    assert [e.first for e in decode(proposals, 1, decoding(passing=0.3))[0]] == [2]
    without_filter = Decoding(LABELS, {"score": 0.3}, "all", Config(filter=False), LocateLabelOptions())
    assert [e.first for e in decode(proposals, 1, without_filter)[0]] == [0, 2]


def test_a_long_entity_may_score_less() -> None:
    places: list[Place] = [(0, 0, 0, 15), (0, 0, 20, 36), (0, 1, 40, 60), (0, 1, 70, 100)]
    proposals = arrays(places, [0.65, 0.65, 0.75, 0.5])
    for score, kept in ((0.7, [1, 2]), (0.6, [0, 1, 2]), (0.4, [0, 1, 2, 3])):
        chosen = replace(decoding(), thresholds={"score": score, "filter": 0.1, "long": 0.6})
        (found,) = decode(proposals, 1, chosen)
        assert [(entity.first, entity.last) for entity in found] == [places[place][2:] for place in kept]


def test_an_entity_and_a_fragment_of_the_same_words_do_not_compete() -> None:
    proposals = arrays([(0, 0, 0, 1), (0, 2, 0, 1), (0, 2, 4, 4)], [0.9, 0.8, 0.8])
    proposals |= {"pair": np.array([[0, 0, 0, 1, 4, 4]]), "pair_score": np.array([0.8])}
    (found,) = decode(proposals, 1, replace(decoding(), thresholds={"score": 0.3, "discontinuous": 0.3, "filter": 0.1}))
    assert {entity.fragments: entity.score for entity in found} == {
        ((0, 2),): pytest.approx(0.9),
        ((0, 2), (4, 5)): pytest.approx(0.8),
    }


def test_no_proposal_gives_an_empty_list_for_every_sentence() -> None:
    assert decode(arrays([], []), 4, decoding("flat")) == [[], [], [], []]


def test_a_sentence_full_of_spans_takes_little_memory() -> None:
    """An undecided model predicts entities everywhere: all spans of up to 16 words in a window of 120."""
    places = [(0, 0, first, last) for first in range(120) for last in range(first, min(first + 16, 120))]
    scores = np.random.default_rng(0).uniform(0.5, 1.0, len(places)).tolist()
    tracemalloc.start()
    (found,) = decode(arrays(places, scores), 1, decoding(score=0.3))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0 < len(found) < len(places)
    assert peak < 2**25, "megabytes, not the hundreds of all pairs in floats"
