from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.evaluation.match import largest_matching, overlapping, pair_documents

SPANS = st.tuples(st.integers(0, 20), st.integers(1, 6)).map(lambda drawn: ((drawn[0], drawn[0] + drawn[1]),))
BROKEN = st.tuples(st.integers(0, 6), st.integers(1, 3), st.integers(1, 5), st.integers(1, 3)).map(
    lambda d: ((d[0], d[0] + d[1]), (d[0] + d[1] + d[2], d[0] + d[1] + d[2] + d[3]))
)
ENTITIES = st.lists((SPANS | BROKEN).map(lambda fragments: Entity("A", fragments)), max_size=6)


def characters(entity: Entity) -> set[int]:
    return {position for start, end in entity.fragments for position in range(start, end)}


@given(ENTITIES, ENTITIES)
def test_overlapping_equals_brute_force(gold: list[Entity], predicted: list[Entity]) -> None:
    expected = [(i, j) for i, one in enumerate(gold) for j, other in enumerate(predicted) if characters(one) & characters(other)]
    assert overlapping(gold, predicted) == expected


@given(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4))))
def test_largest_matching_equals_brute_force(edges: set[tuple[int, int]]) -> None:
    best = max(sum((gold, predicted) in edges for gold, predicted in enumerate(order)) for order in permutations(range(5)))
    assert largest_matching(edges) == best


@given(st.sets(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=150))
def test_largest_matching_equals_scipy(edges: set[tuple[int, int]]) -> None:
    rows, columns = zip(*edges, strict=True)
    matched = maximum_bipartite_matching(csr_array((np.ones(len(edges)), (rows, columns))), perm_type="column")
    assert largest_matching(edges) == (matched >= 0).sum()


def test_a_different_number_of_documents_is_named() -> None:
    with pytest.raises(AnynerError, match="2 gold documents but 1 predicted"):
        pair_documents([Document("a"), Document("b")], [Document("a")])


def test_the_first_different_text_is_named() -> None:
    with pytest.raises(AnynerError, match=r"document 1 \(note-7\)"):
        pair_documents([Document("a"), Document("b", id="note-7")], [Document("a"), Document("c")])


def test_a_label_that_is_not_annotated_is_not_judged() -> None:
    gold = Document("Cairo and Rome", (Entity("City", ((0, 5),)),), labels=frozenset({"City"}))
    predicted = gold.with_entities([Entity("City", ((0, 5),)), Entity("River", ((10, 14),))])
    [pair] = pair_documents([gold], [predicted])
    assert [entity.label for entity in pair.predicted] == ["City"]
    assert pair.unjudged == 1


def test_a_gold_label_counts_as_annotated_even_if_unlisted() -> None:
    gold = Document("Cairo", (Entity("City", ((0, 5),)),), labels=frozenset({"River"}))
    [pair] = pair_documents([gold], [gold])
    assert len(pair.predicted) == 1
    assert pair.unjudged == 0
