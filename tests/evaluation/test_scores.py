from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.document import Document, Entity
from anyner.evaluation.match import pair_documents
from anyner.evaluation.scores import Score, label_scores, macro_average, scenario_scores, weighted_average

TEXT = "x" * 12
FRAGMENTS = st.sets(st.integers(0, 4), min_size=1, max_size=3).map(
    lambda places: [(place, place + 1) for place in sorted(places)]
)
ENTITIES = st.lists(st.builds(Entity, st.sampled_from("ABC"), FRAGMENTS), max_size=4, unique_by=lambda entity: entity.key)


def pairs_of(gold: list[Entity], predicted: list[Entity]):  # noqa: ANN201
    return pair_documents([Document(TEXT, tuple(gold))], [Document(TEXT, tuple(predicted))])


def characters(entity: Entity) -> set[int]:
    return {position for start, end in entity.fragments for position in range(start, end)}


def best_total(gold: list[Entity], predicted: list[Entity], credit) -> float:  # noqa: ANN001
    """The maximum total credit over all one-to-one assignments, by brute force."""
    padded = [*predicted, *[None] * len(gold)]
    return max(
        sum(credit(one, other) for one, other in zip(gold, order, strict=True) if other is not None)
        for order in permutations(padded, len(gold))
    )


def partial_credit(one: Entity, other: Entity) -> float:
    if one.fragments == other.fragments:
        return 1.0
    return 0.5 if characters(one) & characters(other) else 0.0


@given(ENTITIES, ENTITIES)
def test_scenarios_equal_brute_force(gold: list[Entity], predicted: list[Entity]) -> None:
    scenarios = scenario_scores(pairs_of(gold, predicted))
    right = {entity.key for entity in gold} & {entity.key for entity in predicted}
    assert scenarios.strict == Score(len(right), len(predicted), len(gold))
    assert scenarios.exact.correct == best_total(gold, predicted, lambda a, b: a.fragments == b.fragments)
    assert scenarios.partial.correct == best_total(gold, predicted, partial_credit)
    # Correct entities are matched first, then the others optimally.
    left_gold = [entity for entity in gold if entity.key not in right]
    left_predicted = [entity for entity in predicted if entity.key not in right]
    same_label = best_total(left_gold, left_predicted, lambda a, b: a.label == b.label and bool(characters(a) & characters(b)))
    assert scenarios.ent_type.correct == len(right) + same_label


@pytest.mark.parametrize("order", list(permutations(range(2))))
def test_nested_predictions_in_any_order(order: tuple[int, ...]) -> None:
    gold = [Entity("A", ((0, 6),)), Entity("B", ((0, 3),))]
    predicted = [Entity("A", ((0, 6),)), Entity("B", ((0, 4),))]
    scenarios = scenario_scores(pairs_of(gold, [predicted[place] for place in order]))
    assert scenarios.strict == Score(1, 2, 2)
    assert scenarios.strict.f1 == 0.5
    assert scenarios.exact == Score(1, 2, 2)
    assert scenarios.ent_type == Score(2, 2, 2)
    assert scenarios.partial == Score(1.5, 2, 2)


def test_gaps_do_not_overlap() -> None:
    around_the_gap = [Entity("A", ((0, 2), (8, 10)))]
    in_the_gap = [Entity("A", ((3, 5),))]
    scenarios = scenario_scores(pairs_of(around_the_gap, in_the_gap))
    assert scenarios.ent_type.correct == scenarios.partial.correct == 0


def test_two_labels_on_the_same_fragments() -> None:
    gold = [Entity("A", ((0, 3),)), Entity("B", ((0, 3),))]
    predicted = [Entity("A", ((0, 3),)), Entity("C", ((0, 3),)), Entity("D", ((0, 3),))]
    scenarios = scenario_scores(pairs_of(gold, predicted))
    assert (scenarios.strict.correct, scenarios.exact.correct, scenarios.partial.correct) == (1, 2, 2)
    other_way = scenario_scores(pairs_of(predicted[1:], gold[1:]))
    assert (other_way.strict.correct, other_way.exact.correct, other_way.partial.correct) == (0, 1, 1)


def test_ratios_without_a_denominator_are_zero() -> None:
    assert scenario_scores(pairs_of([], [])).strict == scenario_scores([]).partial == Score(0, 0, 0)
    assert (Score(0, 0, 3).precision, Score(0, 2, 0).recall, Score(0, 0, 0).f1) == (0.0, 0.0, 0.0)


def test_scores_of_entities_are_ignored() -> None:
    gold = [Entity("A", ((0, 3),))]
    predicted = [Entity("A", ((0, 3),), score=0.3)]
    assert scenario_scores(pairs_of(gold, predicted)).strict.f1 == 1.0


def test_averages() -> None:
    gold = [Entity("A", ((0, 1),)), Entity("A", ((2, 3),)), Entity("A", ((4, 5),)), Entity("B", ((6, 7),))]
    predicted = [Entity("A", ((0, 1),)), Entity("B", ((6, 7),)), Entity("C", ((8, 9),))]
    labels = label_scores(pairs_of(gold, predicted))
    assert labels == {"A": Score(1, 1, 3), "B": Score(1, 1, 1), "C": Score(0, 1, 0)}
    scores = list(labels.values())
    assert macro_average(scores).recall == pytest.approx((1 / 3 + 1 + 0) / 3)
    assert macro_average(scores).f1 == pytest.approx((0.5 + 1 + 0) / 3)
    assert weighted_average(scores).f1 == pytest.approx(0.75 * 0.5 + 0.25 * 1)
    assert weighted_average(scores[2:]).f1 == 0.0
