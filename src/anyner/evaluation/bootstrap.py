"""Confidence intervals of strict F1: seeded bootstrap over documents, independent of their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anyner.errors import AnynerError
from anyner.evaluation.match import Pair
from anyner.evaluation.scores import strict_score

Counts = npt.NDArray[np.float64]

_PERCENTILES = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Interval:
    """The middle 95 % of the resampled values."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on the same documents: F1 of the first minus F1 of the second."""

    difference: float
    interval: Interval
    p_value: float
    """Two-sided p-value."""


def strict_interval(pairs: Sequence[Pair], resamples: int = 1000, seed: int = 0) -> Interval:
    """The 95 % bootstrap interval of strict micro F1 over documents."""
    counts = _strict_counts(pairs)
    if not len(counts):
        return Interval(0.0, 0.0)
    correct, predicted, gold = _resampled(counts, resamples, seed).T
    return _middle(_f1(correct, predicted, gold))


def compare(first: Sequence[Pair], second: Sequence[Pair], resamples: int = 1000, seed: int = 0) -> Comparison:
    """The paired bootstrap of two systems' strict micro F1; both must have the same documents in the same order."""
    if [pair.document for pair in first] != [pair.document for pair in second]:
        raise AnynerError("two systems can only be compared on the same gold documents in the same order")
    counts = np.concatenate((_strict_counts(first), _strict_counts(second)), axis=1)
    if not len(counts):
        return Comparison(0.0, Interval(0.0, 0.0), 1.0)
    observed = float(_differences(counts.sum(axis=0, keepdims=True))[0])
    differences = _differences(_resampled(counts, resamples, seed))
    # Under the null hypothesis, differences scatter around 0 as the resampled ones do around the observed one.
    # The tolerance keeps rounding from excluding resamples at exactly the observed distance.
    as_large = np.abs(differences - observed) >= abs(observed) - 1e-12
    return Comparison(observed, _middle(differences), float((as_large.sum() + 1) / (resamples + 1)))


def _strict_counts(pairs: Sequence[Pair]) -> Counts:
    """One row per document: correct, predicted, gold."""
    scores = [strict_score(pair) for pair in pairs]
    return np.array([(score.correct, score.predicted, score.gold) for score in scores], dtype=np.float64).reshape(-1, 3)


def _resampled(counts: Counts, resamples: int, seed: int) -> Counts:
    """One row per resample: the summed counts of as many documents, drawn with replacement.

    Documents with equal counts are interchangeable, so it is enough to draw how often each distinct row occurs:
    the same distribution, far less work, and independent of the order of the documents.
    """
    if resamples < 1:
        raise AnynerError(f"resamples must be at least 1, got {resamples}")
    rows, times = np.unique(counts, axis=0, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(counts), times / len(counts), size=resamples)
    summed: Counts = drawn @ rows
    return summed


def _f1(correct: Counts, predicted: Counts, gold: Counts) -> Counts:
    values: Counts = 2 * correct / np.maximum(predicted + gold, 1)
    return values


def _differences(counts: Counts) -> Counts:
    return _f1(*counts[:, :3].T) - _f1(*counts[:, 3:].T)


def _middle(values: Counts) -> Interval:
    low, high = np.percentile(values, _PERCENTILES)
    return Interval(float(low), float(high))
