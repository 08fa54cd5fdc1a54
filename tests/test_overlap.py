from __future__ import annotations

import itertools
import random
import time
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.document import Entity
from anyner.errors import InvalidInputError
from anyner.fragments import Fragments, canonical_fragments
from anyner.overlap import (
    POLICIES,
    Policy,
    Relation,
    checked_policy,
    nesting_depth,
    relation,
    resolve,
    sharing_pairs,
    size,
)


@dataclass(frozen=True)
class WordEntity:
    label: str
    fragments: Fragments
    score: float


def fragments_of(positions: set[int]) -> Fragments:
    return canonical_fragments((position, position + 1) for position in sorted(positions))


def positions_of(fragments: Fragments) -> set[int]:
    return {position for start, end in fragments for position in range(start, end)}


spans = st.sets(st.integers(0, 11), min_size=1, max_size=6).map(fragments_of)
stretches = st.tuples(st.integers(0, 14), st.integers(1, 6)).map(lambda s: ((s[0], s[0] + s[1]),))
scores = st.sampled_from([None, 0.1, 0.5, 0.5, 0.9])
entities = st.builds(Entity, st.sampled_from("AB"), st.one_of(spans, stretches), scores)


def relation_by_sets(one: Fragments, other: Fragments) -> Relation:
    left, right = positions_of(one), positions_of(other)
    if left == right:
        return Relation.EQUAL
    if left < right:
        return Relation.INSIDE
    if left > right:
        return Relation.AROUND
    return Relation.CROSSING if left & right else Relation.APART


@given(st.one_of(spans, stretches), st.one_of(spans, stretches))
def test_relation_is_that_of_the_position_sets(one: Fragments, other: Fragments) -> None:
    assert relation(one, other) is relation_by_sets(one, other)
    assert size(one) == len(positions_of(one))


def test_an_entity_in_the_gap_of_another_is_apart() -> None:
    assert relation(((0, 2), (5, 7)), ((2, 5),)) is Relation.APART
    assert relation(((0, 2), (5, 7)), ((3, 6),)) is Relation.CROSSING
    assert relation(((0, 2), (5, 7)), ((0, 7),)) == "inside"


@given(st.lists(st.one_of(spans, stretches), max_size=8))
def test_sharing_pairs_are_all_pairs_that_share(listed: list[Fragments]) -> None:
    found = {}
    for first, second, kind in sharing_pairs(listed):
        assert frozenset((first, second)) not in found
        found[frozenset((first, second))] = kind
        assert kind is relation_by_sets(listed[first], listed[second])
    expected = {
        frozenset((a, b))
        for a, b in itertools.combinations(range(len(listed)), 2)
        if positions_of(listed[a]) & positions_of(listed[b])
    }
    assert set(found) == expected


def depth_by_recursion(index: int, sets: list[set[int]]) -> int:
    outer = [depth_by_recursion(i, sets) for i, other in enumerate(sets) if sets[index] < other]
    return 1 + max(outer) if outer else 0


@given(st.lists(st.one_of(spans, stretches), max_size=8))
def test_nesting_depth_is_the_longest_chain_around(listed: list[Fragments]) -> None:
    sets = [positions_of(fragments) for fragments in listed]
    assert nesting_depth(listed) == [depth_by_recursion(index, sets) for index in range(len(listed))]


def resolve_by_sets(items: list[Entity], policy: Policy) -> list[Entity]:
    def rank(index: int) -> tuple[object, ...]:
        item = items[index]
        covered = -len(positions_of(item.fragments))
        scored = item.score is not None and item.score == item.score
        strength = (0, -item.score) if scored and item.score is not None else (1, 0.0)
        head = (covered, strength) if policy == "longest" else (strength, covered)
        return (*head, item.start, item.fragments, item.label)

    def compared(*indices: int) -> bool:
        return not policy.endswith("_spans") or all(len(items[index].fragments) == 1 for index in indices)

    kept: list[int] = []
    for index in sorted(range(len(items)), key=rank):
        fragments = items[index].fragments
        relations = [relation_by_sets(fragments, items[other].fragments) for other in kept if compared(index, other)]
        if policy.startswith("nested") and Relation.CROSSING in relations:
            continue
        if policy in ("flat", "longest", "flat_spans") and any(kind is not Relation.APART for kind in relations):
            continue
        kept.append(index)
    return [items[index] for index in sorted(kept)]


@given(st.lists(entities, max_size=9), st.sampled_from(POLICIES))
def test_resolve_is_the_greedy_choice(items: list[Entity], policy: Policy) -> None:
    assert [id(item) for item in resolve(items, policy)] == [id(item) for item in resolve_by_sets(items, policy)]


@given(st.lists(entities, max_size=8), st.sampled_from(POLICIES), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_change_the_choice(items: list[Entity], policy: Policy, shuffler: random.Random) -> None:
    shuffled = list(items)
    shuffler.shuffle(shuffled)
    assert sorted(map(repr, resolve(items, policy))) == sorted(map(repr, resolve(shuffled, policy)))


def test_policies_on_one_example() -> None:
    outer = WordEntity("Person", ((0, 6),), 0.6)
    inner = WordEntity("Place", ((5, 6),), 0.9)
    twin = WordEntity("Organisation", ((5, 6),), 0.8)
    crossing = WordEntity("Symptom", ((4, 8),), 0.7)
    items = [crossing, outer, twin, inner]
    assert resolve(items, "all") == items
    assert resolve(items, "nested") == [crossing, twin, inner]
    assert resolve(items, "flat") == [inner]
    assert resolve(items, "longest") == [outer]
    coordinated = WordEntity("Symptom", ((0, 1), (7, 8)), 0.1)
    assert resolve([*items, coordinated], "nested_spans") == [crossing, twin, inner, coordinated]
    assert resolve([*items, coordinated], "flat_spans") == [inner, coordinated]


def test_ties_go_to_more_positions_then_earlier_start_then_label() -> None:
    assert resolve([Entity("A", ((0, 2),), 0.5), Entity("A", ((1, 4),), 0.5)], "flat")[0].start == 1
    assert resolve([Entity("A", ((1, 3),), 0.5), Entity("A", ((0, 2),), 0.5)], "flat")[0].start == 0
    assert resolve([Entity("B", ((0, 2),), 0.5), Entity("A", ((0, 2),), 0.5)], "flat")[0].label == "A"
    assert resolve([Entity("A", ((0, 9),)), Entity("A", ((1, 2),), 0.0)], "flat")[0].start == 1


def test_unknown_policy_is_refused_in_one_line() -> None:
    assert checked_policy("longest") == "longest"
    with pytest.raises(InvalidInputError, match=r"'best'.*all, nested, flat, longest"):
        checked_policy("best")
    with pytest.raises(InvalidInputError, match="'best'"):
        resolve([], "best")  # type: ignore[arg-type]


def chained(count: int) -> list[WordEntity]:
    """A document-long entity, and a chain in which each crosses its neighbours."""
    draw = random.Random(1)
    chain = [WordEntity("A", ((3 * i, 3 * i + 5),), draw.random()) for i in range(count)]
    return [WordEntity("B", ((0, 3 * count + 5),), 2.0), *chain]


def test_many_entities_take_near_linear_time() -> None:
    def seconds(count: int) -> float:
        items = chained(count)
        began = time.process_time()
        kept = resolve(items, "nested")
        assert count / 3 < len(kept) < count
        assert nesting_depth([item.fragments for item in items])[1:] == [1] * count
        return time.process_time() - began

    # a busy machine slows down now one, now the other; quadratic time would give a factor of 400 every time
    assert any(seconds(40_000) < 60 * min(seconds(2_000) for _ in range(2)) for _ in range(3))


def test_three_entities_a_call_are_cheap() -> None:
    items = [WordEntity("A", ((0, 2),), 0.5), WordEntity("A", ((1, 3),), 0.6), WordEntity("B", ((7, 9),), 0.7)]
    began = time.process_time()
    for _ in range(2_000):
        resolve(items, "nested")
    assert time.process_time() - began < 1.0
