"""The four scenarios equal nervaluate's on flat data; where its result depends on the order, ours is its best one."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nervaluate.entities import Entity as TheirEntity
from nervaluate.evaluator import Evaluator
from nervaluate.strategies import EntityTypeEvaluation

from anyner.document import Document, Entity
from anyner.evaluation.match import overlapping, pair_documents
from anyner.evaluation.scores import scenario_scores

LABELS = ["PER", "LOC"]
Span = tuple[str, int, int]
CHUNKS = st.lists(st.tuples(st.sampled_from(["O", *LABELS]), st.integers(1, 4)), max_size=7)


def spans(chunks: list[tuple[str, int]]) -> list[Span]:
    found, start = [], 0
    for label, length in chunks:
        if label != "O":
            found.append((label, start, start + length))
        start += length
    return found


SPANS = CHUNKS.map(spans)


def documents(corpus: list[list[Span]]) -> list[Document]:
    words = ["w"] * 40
    return [Document.from_words(words, [Entity(label, ((start, end),)) for label, start, end in flat]) for flat in corpus]


def theirs(flat: list[Span]) -> list[TheirEntity]:
    return [TheirEntity(label, start, end - 1) for label, start, end in flat]  # their end is the last word


def assert_scenarios_equal(golds: list[list[Span]], predictions: list[list[Span]], names: list[str]) -> None:
    def plain(corpus: list[list[Span]]) -> list[list[dict[str, object]]]:
        return [[{"label": e.label, "start": e.start, "end": e.end} for e in theirs(flat)] for flat in corpus]

    expected = Evaluator(plain(golds), plain(predictions), tags=LABELS, loader="dict").evaluate()["overall"]
    scenarios = scenario_scores(pair_documents(documents(golds), documents(predictions)))
    for name in names:
        ours, other = getattr(scenarios, name), expected[name]
        assert ours.correct == other.correct + other.partial / 2, name
        assert (ours.predicted, ours.gold) == (other.actual, other.possible), name
        assert [ours.precision, ours.recall, ours.f1] == pytest.approx([other.precision, other.recall, other.f1]), name


@given(st.lists(st.tuples(SPANS, SPANS), min_size=1, max_size=4))
def test_strict_exact_and_partial_equal_on_flat_data(corpus: list[tuple[list[Span], list[Span]]]) -> None:
    assert_scenarios_equal([one for one, _ in corpus], [other for _, other in corpus], ["strict", "exact", "partial"])


@given(SPANS, SPANS)
def test_all_four_equal_where_each_entity_overlaps_at_most_one(gold: list[Span], predicted: list[Span]) -> None:
    [one], [other] = documents([gold]), documents([predicted])
    edges = overlapping(one.entities, other.entities)
    kept = [edge for edge in edges if sum(edge[1] == e[1] or edge[0] == e[0] for e in edges) == 1]
    shared = [edge for edge in edges if edge not in kept]
    gold = [span for place, span in enumerate(gold) if place not in {edge[0] for edge in shared}]
    predicted = [span for place, span in enumerate(predicted) if place not in {edge[1] for edge in shared}]
    assert_scenarios_equal([gold], [predicted], ["strict", "exact", "partial", "ent_type"])


@given(SPANS, SPANS.filter(lambda flat: len(flat) <= 5))
def test_type_equals_nervaluate_in_its_best_order(gold: list[Span], predicted: list[Span]) -> None:
    [pair] = pair_documents(documents([gold]), documents([predicted]))
    strategy = EntityTypeEvaluation()
    counts = {strategy.evaluate(theirs(gold), list(order), LABELS)[0].correct for order in permutations(theirs(predicted))}
    assert scenario_scores([pair]).ent_type.correct == max(counts)


def test_a_wrong_label_does_not_take_the_gold_entity_away() -> None:
    gold, predicted = [("PER", 0, 4)], [("LOC", 0, 2), ("PER", 2, 4)]
    assert EntityTypeEvaluation().evaluate(theirs(gold), theirs(predicted), LABELS)[0].correct == 0
    assert EntityTypeEvaluation().evaluate(theirs(gold), theirs(predicted)[::-1], LABELS)[0].correct == 1
    scenarios = scenario_scores(pair_documents(documents([gold]), documents([predicted])))
    assert scenarios.ent_type.correct == 1
