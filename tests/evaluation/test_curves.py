"""Curves over thresholds, reliability and confusion, checked by counting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyner.document import Document, Entity
from anyner.evaluation.curves import OTHER, calibration_error, label_confusion, reliability, threshold_curve
from anyner.evaluation.evaluate import evaluate_documents
from anyner.evaluation.match import Pair

TEXT = "abcdefghij"
GOLD = Document(TEXT, tuple(Entity("A", ((place, place + 1),)) for place in range(4)))


def predicted(scores: list[float | None]) -> Pair:
    """The first four are gold, the others are not."""
    return Pair(GOLD, tuple(Entity("A", ((place, place + 1),), score) for place, score in enumerate(scores)))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_every_point_is_the_score_of_the_kept_predictions(scores: list[float]) -> None:
    curve = threshold_curve([predicted(list(scores))])
    assert curve[0].score.predicted == len(scores)
    assert curve[-1].threshold == 1.0
    for point in curve:
        kept = [place for place, score in enumerate(scores) if score >= point.threshold]
        assert (point.score.predicted, point.score.gold) == (len(kept), 4)
        assert point.score.correct == sum(place < 4 for place in kept)


def test_the_curve_begins_where_something_changes() -> None:
    curve = threshold_curve([predicted([0.9, 0.8, 0.55, 0.6])])
    assert curve[0].threshold == 0.55
    assert len(curve) == 46


def test_predictions_without_scores_have_no_curve() -> None:
    for pair in (predicted([0.5, None]), Pair(GOLD, ())):
        assert threshold_curve([pair]) == ()
        assert reliability([pair]) == ()
    assert calibration_error(()) == 0


def test_reliability() -> None:
    bins = reliability([predicted([0.95, 1.0, 0.15, 0.19, 0.91])])
    assert [(one.low, one.high, one.predicted) for one in bins] == [(0.1, 0.2, 2), (0.9, 1.0, 3)]
    assert bins[0].mean_score == pytest.approx(0.17) and bins[0].precision == 1
    assert bins[1].precision == pytest.approx(2 / 3)
    assert calibration_error(bins) == pytest.approx((2 * (1 - 0.17) + 3 * (2.86 / 3 - 2 / 3)) / 5)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_calibration_error_by_hand(scores: list[float]) -> None:
    total = 0.0
    for low in range(10):
        own = [place for place, score in enumerate(scores) if min(int(score * 10), 9) == low]
        total += abs(sum(scores[place] for place in own) - sum(place < 4 for place in own))
    assert calibration_error(reliability([predicted(list(scores))])) == pytest.approx(total / len(scores))


def test_confusion_counts_every_entity_once() -> None:
    gold = Document(TEXT, (Entity("A", ((0, 1),)), Entity("A", ((2, 3),)), Entity("B", ((4, 6),)), Entity("B", ((7, 8),))))
    guess = Document(TEXT, (Entity("A", ((0, 1),)), Entity("B", ((2, 3),)), Entity("A", ((4, 5),)), Entity("A", ((9, 10),))))
    evaluation = evaluate_documents([gold], [guess])
    counts = label_confusion(evaluation.labels, evaluation.errors)
    assert counts == {("A", "A"): 1, ("A", "B"): 1, ("B", "A"): 1, ("B", OTHER): 1, (OTHER, "A"): 1}
    for label, score in evaluation.labels.items():
        assert sum(count for (row, _), count in counts.items() if row == label) == score.gold
        assert sum(count for (_, column), count in counts.items() if column == label) == score.predicted
