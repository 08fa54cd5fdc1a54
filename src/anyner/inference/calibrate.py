"""Fits a calibration on dev documents, and chooses a threshold for each label: for F1, or for a target precision or recall."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from anyner.architectures.settings import Decoding
from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.evaluation.curves import AtThreshold, Bin, calibration_error, reliability, scored, threshold_curve
from anyner.evaluation.match import Pair, pair_documents
from anyner.evaluation.scores import NOTHING, Score, label_scores, strict_score
from anyner.inference.config import Calibration, logit
from anyner.inference.recognizer import Recognizer
from anyner.inference.streaming import calibrated
from anyner.inference.tuning import DocumentsRead, Tuner, middle_place

ENOUGH = 50
"""Gold entities that a label needs for a threshold of its own; labels with fewer get one common threshold."""
_STEPS, _TOLERANCE, _RIDGE = 50, 1e-9, 1e-9
_FLATTEST, _STEEPEST = 0.01, 100.0


@dataclass(frozen=True, slots=True)
class Goal:
    figure: Literal["f1", "precision", "recall"]
    target: float = 1.0
    labels: int = 1
    """Number of labels that all have to reach it."""

    def lower_bound(self, score: Score) -> float:
        """Lower bound of the figure's Wilson interval: the figure itself would often choose too low a threshold.

        The intervals of all labels hold together in 95 % of cases (Bonferroni correction).
        """
        correct, of = score.correct, score.predicted if self.figure == "precision" else score.gold
        if not of:
            return 0.0
        errors = NormalDist().inv_cdf(1 - 0.025 / self.labels)
        ratio, share = correct / of, errors**2 / of
        return (ratio + share / 2 - math.sqrt(share * (ratio * (1 - ratio) + share / 4))) / (1 + share)


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A calibration, and its effect on the documents it was fitted on."""

    calibration: Calibration
    entities: int
    """Number of predictions that the calibration map was fitted on."""
    before: tuple[Bin, ...]
    """Reliability of the entities above the architecture's own thresholds, by uncalibrated score."""
    after: tuple[Bin, ...]
    """Reliability of the same entities, by calibrated probability."""
    labels: dict[str, Score]
    """Strict scores by label, with the calibration."""
    strict: Score
    goal: Goal
    unreached: dict[str, AtThreshold]
    """Labels that do not reach the target precision or recall, with the best they reach."""

    @property
    def error_before(self) -> float:
        """Expected calibration error."""
        return calibration_error(self.before)

    @property
    def error_after(self) -> float:
        return calibration_error(self.after)


def calibrated_on(
    recognizer: Recognizer,
    documents: Sequence[Document],
    *,
    precision: float | None = None,
    recall: float | None = None,
    thresholds: bool = True,
) -> Calibrated:
    """Fits a temperature, and thresholds for F1 or a target precision or recall; `thresholds=False`: entities stay the same."""
    goal = _goal(precision, recall)
    if goal.figure != "f1" and not thresholds:
        raise AnynerError(f"cannot reach a target {goal.figure} without choosing thresholds (thresholds=False, --scores-only)")
    bare = _with(recognizer, None)
    read, own = Tuner(bare, documents).read(), bare.decoding()
    loosest = {one.name: one.loosest for one in own.config.thresholds() if one.of_score}
    loose = _pairs(documents, read, replace(own, thresholds={**own.thresholds, **loosest}))
    scores, right = scored(loose)
    if not right.any():
        found = "no entities found" if not len(right) else "no predicted entity is correct"
        raise AnynerError(f"cannot calibrate on these documents: {found}, even at the lowest thresholds")
    calibration = fitted(scores, right)
    visible = _pairs(documents, read, own)
    judged = _calibrated_pairs(visible, calibration)
    unreached: dict[str, AtThreshold] = {}
    final = judged
    if thresholds:
        probable = _calibrated_pairs(loose, calibration)
        curves = _curves(probable, recognizer.config.labels)
        goal = replace(goal, labels=max(1, len(curves)))
        chosen, unreached = _chosen(threshold_curve(probable), curves, recognizer.config.labels, goal)
        calibration = calibration.updated({"thresholds": chosen}, "calibration")
        final = _pairs(documents, read, _with(recognizer, calibration).decoding())
    strict = sum(map(strict_score, final), NOTHING)
    bins = reliability(visible), reliability(judged)
    return Calibrated(calibration, len(scores), *bins, label_scores(final), strict, goal, unreached)


def _goal(precision: float | None, recall: float | None) -> Goal:
    if precision is not None and recall is not None:
        raise AnynerError("choose a precision or a recall, not both: one threshold cannot guarantee two figures")
    for goal, wanted in (("precision", precision), ("recall", recall)):
        if wanted is not None and not 0 < wanted < 1:
            raise AnynerError(f"{goal}: expected a number between 0 and 1, got {wanted!r}")
    if precision is not None:
        return Goal("precision", precision)
    return Goal("recall", recall) if recall is not None else Goal("f1")


def _with(recognizer: Recognizer, calibration: Calibration | None) -> Recognizer:
    config = recognizer.config.model_copy(update={"calibration": calibration})
    return Recognizer(recognizer.runtime, recognizer.vocabulary, config)


def _pairs(documents: Sequence[Document], read: DocumentsRead, decoding: Decoding) -> tuple[Pair, ...]:
    found = read.entities(decoding)
    predicted = [document.with_entities(found.get(number, ())) for number, document in enumerate(documents)]
    return pair_documents(documents, predicted)


def _calibrated_pairs(pairs: Sequence[Pair], calibration: Calibration) -> tuple[Pair, ...]:
    return tuple(replace(pair, predicted=tuple(calibrated(pair.predicted, calibration))) for pair in pairs)


# The probability that an entity is correct


def fitted(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> Calibration:
    """The maximum likelihood temperature; with a bias if the BIC favours the second parameter.

    Targets are smoothed to lie inside 0 and 1 (Platt), so that a perfect model does not get an infinite slope.
    """
    logits = np.array([logit(score) for score in scores.tolist()])
    many = right.sum(), len(right) - right.sum()
    targets = np.where(right, (many[0] + 1) / (many[0] + 2), 1 / (many[1] + 2))
    one, loss = _newton(logits[:, None], targets)
    both, loss_of_both = _newton(np.stack([logits, np.ones_like(logits)], 1), targets)
    slope, bias = (both[0], both[1]) if 2 * (loss - loss_of_both) > math.log(len(right)) else (one[0], 0.0)
    if slope < _FLATTEST:
        raise AnynerError("cannot calibrate on these documents: entities with higher scores are not correct more often")
    return Calibration.of({"temperature": round(1 / min(slope, _STEEPEST), 6), "bias": round(float(bias), 6)}, "calibration")


def _newton(features: NDArray[np.float64], targets: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Logistic regression by damped Newton steps from a slope of 1: the weights, and the loss summed over all targets."""

    def loss_at(weights: NDArray[np.float64]) -> float:
        values = features @ weights
        return float((np.logaddexp(0.0, values) - targets * values).sum())

    weights = np.eye(features.shape[1])[0]
    loss = loss_at(weights)
    for _ in range(_STEPS):
        probability = 0.5 * (1 + np.tanh(features @ weights / 2))
        gradient = features.T @ (probability - targets)
        curvature = (features * (probability * (1 - probability))[:, None]).T @ features
        step = np.linalg.solve(curvature + _RIDGE * np.eye(len(weights)), gradient)
        damping = 1.0
        while (new := loss_at(weights - damping * step)) > loss and damping > _TOLERANCE:
            damping /= 2
        gained, weights, loss = loss - new, weights - damping * step, new
        if gained < _TOLERANCE:
            break
    return weights, loss


# Thresholds


def _curves(pairs: Sequence[Pair], labels: Sequence[str]) -> dict[str, Sequence[AtThreshold]]:
    """Curves of the labels that have enough entities for a threshold of their own."""
    curves = {label: threshold_curve([_of_label(pair, label) for pair in pairs]) for label in labels}
    return {label: one for label, one in curves.items() if one and one[0].score.gold >= ENOUGH and one[0].score.correct}


def _chosen(
    every: Sequence[AtThreshold], curves: Mapping[str, Sequence[AtThreshold]], labels: Sequence[str], goal: Goal
) -> tuple[dict[str, float], dict[str, AtThreshold]]:
    """A threshold for every label, and the labels that do not reach the goal."""
    common = _at(every, goal)
    thresholds = dict.fromkeys(labels, (common or _nearest(every, goal)).threshold)
    unreached = dict[str, AtThreshold]()
    for label, curve in curves.items():
        place = _at(curve, goal)
        if place is None:
            place = unreached[label] = _nearest(curve, goal)
        thresholds[label] = place.threshold
    if common is None and not unreached:
        unreached["all labels"] = _nearest(every, goal)
    return thresholds, unreached


def _of_label(pair: Pair, label: str) -> Pair:
    def own(entities: Sequence[Entity]) -> tuple[Entity, ...]:
        return tuple(entity for entity in entities if entity.label == label)

    return Pair(pair.document.with_entities(own(pair.gold)), own(pair.predicted))


def _at(curve: Sequence[AtThreshold], goal: Goal) -> AtThreshold | None:
    """The threshold that reaches the goal with the least loss of the other figure; None if no threshold does."""
    if goal.figure == "f1":
        place = middle_place({place: point.score for place, point in enumerate(curve)})
        return None if place is None else curve[place]
    reached = [point for point in curve if goal.lower_bound(point.score) >= goal.target]
    if not reached:
        return None
    return reached[0 if goal.figure == "precision" else -1]


def _nearest(curve: Sequence[AtThreshold], goal: Goal) -> AtThreshold:
    return max(curve, key=lambda point: point.score.f1 if goal.figure == "f1" else goal.lower_bound(point.score))
