"""All metrics in one call."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from anyner.document import Document
from anyner.evaluation.bootstrap import Interval, strict_interval
from anyner.evaluation.errors import Cause, ErrorCase, count_causes, error_cases
from anyner.evaluation.match import pair_documents
from anyner.evaluation.papers import RightBoundary, lenient_ends, right_boundary
from anyner.evaluation.scores import (
    Average,
    LabelScore,
    Scenarios,
    Score,
    label_scores,
    macro_average,
    scenario_scores,
    weighted_average,
)
from anyner.evaluation.slices import Slice, slice_scores
from anyner.evaluation.words import WordsOf, default_words


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Predicted documents measured against gold ones. `strict` is the headline."""

    documents: int
    scenarios: Scenarios
    interval: Interval
    """95 % bootstrap interval of strict micro F1 over documents."""
    macro: Average
    weighted: Average
    labels: tuple[LabelScore, ...]
    slices: tuple[Slice, ...]
    lenient_ends: Score
    right_boundary: RightBoundary
    errors: tuple[ErrorCase, ...]
    unjudged: int
    """Predictions not scored because their gold document does not annotate their label."""

    @property
    def strict(self) -> Score:
        return self.scenarios.strict

    @property
    def causes(self) -> dict[Cause, int]:
        return count_causes(self.errors)

    def to_json(self, cases: bool = False) -> dict[str, Any]:
        """Plain JSON; with `cases` also every single error. Ratios are from 0 to 1."""
        plain: dict[str, Any] = {
            "documents": self.documents,
            **self.scenarios.to_json(),
            "strict_f1_interval": self.interval.to_json(),
            "macro": self.macro.to_json(),
            "weighted": self.weighted.to_json(),
            "labels": {label.label: label.score.to_json() for label in self.labels},
            "slices": [part.to_json() for part in self.slices],
            "lenient_ends": self.lenient_ends.to_json(),
            "right_boundary": self.right_boundary.to_json(),
            "causes": {cause.value: count for cause, count in self.causes.items()},
            "unjudged": self.unjudged,
        }
        if cases:
            plain["errors"] = [case.to_json() for case in self.errors]
        return plain


def evaluate_documents(
    gold: Sequence[Document],
    predicted: Sequence[Document],
    train_surfaces: Collection[str] | None = None,
    words_of: WordsOf | None = None,
    resamples: int = 1000,
) -> Evaluation:
    """Measure predicted documents against gold ones, paired by position.

    `train_surfaces` (see `surface_forms`) adds the seen and unseen slices; `words_of` gives the words that lengths and
    gaps are counted in, else the documents' own words or those that white space separates.
    """
    pairs = pair_documents(gold, predicted)
    words = words_of or default_words
    labels = label_scores(pairs)
    return Evaluation(
        documents=len(pairs),
        scenarios=scenario_scores(pairs),
        interval=strict_interval(pairs, resamples),
        macro=macro_average(labels),
        weighted=weighted_average(labels),
        labels=labels,
        slices=slice_scores(pairs, train_surfaces, words),
        lenient_ends=lenient_ends(pairs, words),
        right_boundary=right_boundary(pairs),
        errors=error_cases(pairs),
        unjudged=sum(pair.unjudged for pair in pairs),
    )
