from hypothesis import given
from hypothesis import strategies as st

from anyner.document import Document, Entity
from anyner.evaluation.errors import Cause, error_cases
from anyner.evaluation.match import pair_documents

TEXT = "x" * 30


def entity(label: str, *fragments: tuple[int, int]) -> Entity:
    return Entity(label, fragments)


def causes(gold: list[Entity], predicted: list[Entity]) -> list[tuple[str, int, int]]:
    pairs = pair_documents([Document(TEXT, tuple(gold))], [Document(TEXT, tuple(predicted))])
    return [(case.cause.value, len(case.gold), len(case.predicted)) for case in error_cases(pairs)]


def test_each_cause_alone() -> None:
    assert causes([entity("A", (0, 5))], [entity("A", (0, 5))]) == []
    assert causes([entity("A", (0, 5))], []) == [("missed", 1, 0)]
    assert causes([], [entity("A", (0, 5))]) == [("spurious", 0, 1)]
    assert causes([entity("A", (0, 5))], [entity("A", (6, 9))]) == [("missed", 1, 0), ("spurious", 0, 1)]
    assert causes([entity("A", (0, 5))], [entity("B", (0, 5))]) == [("type", 1, 1)]
    assert causes([entity("A", (0, 5))], [entity("A", (0, 4))]) == [("boundary", 1, 1)]
    assert causes([entity("A", (0, 5))], [entity("B", (2, 8))]) == [("boundary+type", 1, 1)]


def test_discontinuous_causes() -> None:
    gold = [entity("A", (0, 5), (10, 15), (20, 25))]
    assert causes(gold, [entity("A", (0, 5))]) == [("fragment lost", 1, 1)]
    assert causes(gold, [entity("A", (0, 5), (20, 25))]) == [("fragment lost", 1, 1)]
    assert causes(gold, [entity("A", (0, 4))]) == [("boundary", 1, 1)]
    assert causes(gold, [entity("A", (0, 25))]) == [("boundary", 1, 1)]
    assert causes(gold, [entity("A", (0, 5)), entity("A", (20, 25))]) == [("split", 1, 2)]


def test_split_and_merged() -> None:
    whole, left, right = entity("A", (0, 9)), entity("A", (0, 4)), entity("B", (5, 9))
    assert causes([whole], [left, right]) == [("split", 1, 2)]
    assert causes([left, right], [whole]) == [("merged", 2, 1)]
    # Nested predictions are no split: parts must not share characters.
    assert causes([whole], [entity("A", (0, 4)), entity("A", (0, 3))]) == [("boundary", 1, 1), ("spurious", 0, 1)]


def test_parts_inside_two_gold_entities_belong_to_the_first() -> None:
    gold = [entity("A", (0, 12)), entity("B", (0, 10))]
    assert causes(gold, [entity("A", (0, 3)), entity("B", (5, 8))]) == [("missed", 1, 0), ("split", 1, 2)]


def test_correct_entities_take_no_part() -> None:
    outer, inner = entity("A", (0, 9)), entity("B", (2, 4))
    assert causes([outer, inner], [outer, entity("B", (2, 5))]) == [("boundary", 1, 1)]


def test_the_right_label_wins_then_the_most_similar_pair() -> None:
    gold = [entity("A", (0, 10))]
    pairs = pair_documents([Document(TEXT, tuple(gold))], [Document(TEXT, (entity("B", (0, 11)), entity("A", (0, 14))))])
    first = error_cases(pairs)[0]
    assert (first.cause, first.predicted[0].label) == (Cause.BOUNDARY, "A")
    pairs = pair_documents([Document(TEXT, tuple(gold))], [Document(TEXT, (entity("A", (0, 14)), entity("A", (0, 11))))])
    boundary = next(case for case in error_cases(pairs) if case.cause is Cause.BOUNDARY)
    assert boundary.predicted[0].end == 11


FRAGMENTS = st.sets(st.integers(0, 6), min_size=1, max_size=5).map(lambda places: [(p, p + 1) for p in sorted(places)])
ENTITIES = st.lists(st.builds(Entity, st.sampled_from("AB"), FRAGMENTS), max_size=6, unique_by=lambda e: e.key)


@given(ENTITIES, ENTITIES)
def test_every_wrong_entity_is_in_exactly_one_case(gold: list[Entity], predicted: list[Entity]) -> None:
    cases = error_cases(pair_documents([Document(TEXT, tuple(gold))], [Document(TEXT, tuple(predicted))]))
    right = {e.key for e in gold} & {e.key for e in predicted}
    assert sorted(e.key for c in cases for e in c.gold) == sorted(e.key for e in gold if e.key not in right)
    assert sorted(e.key for c in cases for e in c.predicted) == sorted(e.key for e in predicted if e.key not in right)
    for case in cases:
        assert bool(case.gold) == (case.cause is not Cause.SPURIOUS)
        assert bool(case.predicted) == (case.cause is not Cause.MISSED)
