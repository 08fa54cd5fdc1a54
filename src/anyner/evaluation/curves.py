"""Precision and recall over thresholds, reliability, and confusion between labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyner.evaluation.errors import Cause, ErrorCase
from anyner.evaluation.match import Pair, shared_keys
from anyner.evaluation.scores import Score, ratio

_STEPS, _BINS = 100, 10


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """The strict score of the predictions whose score is at least `threshold`."""

    threshold: float
    score: Score


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions with a score in `[low, high)`; the last bin includes 1."""

    low: float
    high: float
    predicted: int
    mean_score: float
    precision: float


def threshold_curve(pairs: Sequence[Pair]) -> tuple[AtThreshold, ...]:
    """Strict scores in steps of 0.01, from the highest threshold that keeps every prediction to 1; empty without scores."""
    scores, right = scored(pairs)
    if not len(scores):
        return ()
    gold = sum(len(pair.gold) for pair in pairs)
    order = np.argsort(-scores, kind="stable")
    found = np.concatenate(([0], np.cumsum(right[order])))
    points: list[AtThreshold] = []
    for step in range(_STEPS + 1):
        threshold = step / _STEPS
        kept = int(np.searchsorted(-scores[order], -threshold, side="right"))
        if kept == len(scores):
            points.clear()  # the same as at every lower threshold
        points.append(AtThreshold(threshold, Score(int(found[kept]), kept, gold)))
    return tuple(points)


def reliability(pairs: Sequence[Pair]) -> tuple[Bin, ...]:
    """Mean score and precision of the predictions in each bin of scores; empty bins are left out."""
    scores, right = scored(pairs)
    places = np.clip((scores * _BINS).astype(int), 0, _BINS - 1)
    found = []
    for place in range(_BINS):
        own = places == place
        if own.any():
            mean, precision = float(scores[own].mean()), float(right[own].mean())
            found.append(Bin(place / _BINS, (place + 1) / _BINS, int(own.sum()), mean, precision))
    return tuple(found)


def calibration_error(bins: Sequence[Bin]) -> float:
    """Expected calibration error (ECE): mean distance of score and precision, bins weighted by their predictions."""
    total = sum(one.predicted for one in bins)
    return ratio(sum(one.predicted * abs(one.mean_score - one.precision) for one in bins), total)


def scored(pairs: Sequence[Pair]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Score and correctness of every prediction; both empty if one has no score."""
    scores, right = [], []
    for pair in pairs:
        correct = shared_keys(pair)
        for entity in pair.predicted:
            if entity.score is None:
                return np.zeros(0), np.zeros(0, dtype=np.bool_)
            scores.append(entity.score)
            right.append(entity.key in correct)
    return np.array(scores, dtype=np.float64), np.array(right, dtype=np.bool_)


OTHER = ""
"""Row and column of a confusion matrix for entities that are not confused with a label."""


def label_confusion(labels: Mapping[str, Score], errors: Sequence[ErrorCase]) -> dict[tuple[str, str], int]:
    """How often each gold label was predicted as each label, on the same or on overlapping fragments.

    The entities of all other errors count under `OTHER`, so rows sum to the gold entities of a label and columns to its
    predictions.
    """
    counts = Counter({(label, label): int(score.correct) for label, score in labels.items() if score.correct})
    for case in errors:
        if case.cause in (Cause.TYPE, Cause.BOUNDARY_AND_TYPE):
            counts[case.gold[0].label, case.predicted[0].label] += 1
        else:
            counts.update((entity.label, OTHER) for entity in case.gold)
            counts.update((OTHER, entity.label) for entity in case.predicted)
    return dict(counts)
