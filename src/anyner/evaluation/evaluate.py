"""All metrics in one call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from anyner.document import Document
from anyner.evaluation import scores
from anyner.evaluation.bootstrap import Interval, strict_interval
from anyner.evaluation.errors import Cause, ErrorCase, error_cases
from anyner.evaluation.match import Pair, pair_documents
from anyner.evaluation.slices import Slice, slice_scores


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Predicted documents measured against gold ones. `strict` is the headline."""

    documents: int
    scenarios: scores.Scenarios
    interval: Interval
    """95 % bootstrap interval of strict micro F1 over documents."""
    macro: scores.Average
    weighted: scores.Average
    labels: dict[str, scores.Score]
    slices: tuple[Slice, ...] = field(repr=False)
    lenient_ends: scores.Score
    right_boundary: scores.RightBoundary
    errors: tuple[ErrorCase, ...] = field(repr=False)
    unjudged: int
    """Predictions not scored because their gold document does not annotate their label."""
    pairs: tuple[Pair, ...] = field(default=(), repr=False, compare=False)
    """The documents themselves, gold and predicted side by side."""

    @property
    def strict(self) -> scores.Score:
        return self.scenarios.strict

    @property
    def causes(self) -> dict[Cause, int]:
        """Number of errors per cause, zeros included."""
        counts = Counter(case.cause for case in self.errors)
        return {cause: counts[cause] for cause in Cause}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON. Ratios are from 0 to 1."""
        return {
            "documents": self.documents,
            **self.scenarios.to_json(),
            "strict_f1_interval": [self.interval.low, self.interval.high],
            "macro": self.macro.to_json(),
            "weighted": self.weighted.to_json(),
            "labels": {label: score.to_json() for label, score in self.labels.items()},
            "slices": [part.to_json() for part in self.slices],
            "lenient_ends": self.lenient_ends.to_json(),
            "right_boundary": self.right_boundary.to_json(),
            "causes": {cause.value: count for cause, count in self.causes.items()},
            "unjudged": self.unjudged,
        }


def evaluate_documents(
    gold: Sequence[Document],
    predicted: Sequence[Document],
    train_surfaces: Collection[str] | None = None,
    resamples: int = 1000,
) -> Evaluation:
    """Measure predicted documents against gold ones, paired by position.

    `train_surfaces` (see `surface_forms`) adds the seen and unseen slices.
    """
    pairs = pair_documents(gold, predicted)
    labels = scores.label_scores(pairs)
    return Evaluation(
        documents=len(pairs),
        scenarios=scores.scenario_scores(pairs),
        interval=strict_interval(pairs, resamples),
        macro=scores.macro_average(labels.values()),
        weighted=scores.weighted_average(labels.values()),
        labels=labels,
        slices=slice_scores(pairs, train_surfaces),
        lenient_ends=scores.lenient_ends(pairs),
        right_boundary=scores.right_boundary(pairs),
        errors=error_cases(pairs),
        unjudged=sum(pair.unjudged for pair in pairs),
        pairs=pairs,
    )
