"""What scores and labels of predictions say: precision and recall over thresholds, reliability, confusion between labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anyner.evaluation.errors import Cause, ErrorCase
from anyner.evaluation.match import Pair, shared_keys
from anyner.evaluation.scores import Score, ratio

_STEPS = 100


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """The strict score of the predictions whose score is at least `threshold`."""

    threshold: float
    score: Score


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions with a score in `[low, high)`, the last bin with 1 as well."""

    low: float
    high: float
    predicted: int
    mean_score: float
    precision: float


def threshold_curve(pairs: Sequence[Pair]) -> tuple[AtThreshold, ...]:
    """Strict scores at 101 thresholds from 0 to 1, from the lowest at which anything changes; nothing without scores."""
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


def reliability(pairs: Sequence[Pair], bins: int = 10) -> tuple[Bin, ...]:
    """How many predictions are right among those with about the same score; empty bins are left out."""
    scores, right = scored(pairs)
    places = np.clip((scores * bins).astype(int), 0, bins - 1)
    found = []
    for place in range(bins):
        own = places == place
        if own.any():
            mean, precision = float(scores[own].mean()), float(right[own].mean())
            found.append(Bin(place / bins, (place + 1) / bins, int(own.sum()), mean, precision))
    return tuple(found)


def calibration_error(bins: Sequence[Bin]) -> float:
    """The expected calibration error: the mean distance of score and precision, each bin by its predictions."""
    total = sum(one.predicted for one in bins)
    return ratio(sum(one.predicted * abs(one.mean_score - one.precision) for one in bins), total)


def scored(
    pairs: Sequence[Pair],
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Score and rightness of every prediction; nothing if one has no score."""
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
"""In a confusion: no entity of the other side that only the label tells apart."""


def label_confusion(labels: Mapping[str, Score], errors: Sequence[ErrorCase]) -> dict[tuple[str, str], int]:
    """How often each gold label came out as each predicted label, on the same or on overlapping fragments.

    A gold entity whose label is right but not its fragments, or that was missed, counts under `OTHER`, and so do wrong
    predictions on the other side: rows sum to the gold entities of a label and columns to its predictions.
    """
    counts = Counter({(label, label): int(score.correct) for label, score in labels.items() if score.correct})
    for case in errors:
        if case.cause in (Cause.TYPE, Cause.BOUNDARY_AND_TYPE):
            counts[case.gold[0].label, case.predicted[0].label] += 1
        else:
            counts.update((entity.label, OTHER) for entity in case.gold)
            counts.update((OTHER, entity.label) for entity in case.predicted)
    return dict(counts)
