"""Joining fragments into entities: against all subsets, and the score of each."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.architectures.biaffine.config import Config
from anyner.architectures.decode import MOST_EDGES, Edges, Span, decode_spans, joined
from anyner.architectures.settings import Decoding, Options

SPANS: list[Span] = [(word, word) for word in range(0, 14, 2)]
PAIRS = list(combinations(SPANS, 2))


@given(st.dictionaries(st.sampled_from(PAIRS), st.floats(0.1, 1.0), max_size=14))
def test_entities_are_the_maximal_cliques_of_pairs(edges: Edges) -> None:
    sets = chain.from_iterable(combinations(SPANS, size) for size in range(2, len(SPANS) + 1))
    all_pairs = [one for one in sets if all(pair in edges for pair in combinations(one, 2))]
    largest = [one for one in all_pairs if not any(set(one) < set(other) for other in all_pairs)]
    found = joined(edges)
    assert [fragments for fragments, _ in found] == sorted(largest)
    for fragments, score in found:
        assert score == pytest.approx(np.mean([edges[pair] for pair in combinations(fragments, 2)]))


def test_of_too_many_pairs_the_best_are_kept() -> None:
    """Decoding must not take forever if a model predicts every word as a fragment."""
    spans = [(word, word) for word in range(0, 80, 2)]
    edges = dict.fromkeys(combinations(spans, 2), 0.5) | {(spans[0], spans[-1]): 0.9}
    assert len(edges) > MOST_EDGES
    assert any(fragments[0] == spans[0] and fragments[-1] == spans[-1] for fragments, _ in joined(edges))


def test_the_score_is_that_of_the_fragments_and_their_pair() -> None:
    proposals = {
        "place": np.array([[0, 0, 1, 1], [0, 2, 0, 0], [0, 2, 4, 5], [0, 2, 7, 7]]),
        "score": np.array([0.9, 0.8, 0.4, 0.8]),
        "pair": np.array([[0, 0, 0, 0, 4, 5], [0, 0, 0, 0, 7, 7], [0, 0, 4, 5, 7, 7]]),
        "pair_score": np.array([0.9, 0.01, 0.9]),
    }
    decoding = Decoding(("A", "B"), {"score": 0.5, "discontinuous": 0.6}, "all", Config(), Options())
    (entities,) = decode_spans(proposals, 1, decoding)
    found = {entity.fragments: entity.score for entity in entities}
    assert found == {
        ((1, 2),): 0.9,
        ((0, 1), (4, 6)): pytest.approx((0.9 * 0.8 * 0.4) ** (1 / 3)),
        ((4, 6), (7, 8)): pytest.approx((0.9 * 0.8 * 0.4) ** (1 / 3)),
    }, "a fragment is not an entity, and it may score low if its pair scores high"
