"""Settings of the two-stage identifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, PositiveInt, field_validator

from anyner.architectures.settings import (
    CorpusStatistics,
    ReadSpanClassifierConfig,
    SpanClassifierOptions,
    SpanHeadConfig,
    Threshold,
)

LONGEST_FITTED = 16
"""Most words of a seed when the lengths come from the corpus: the longest seed of the paper's experiments."""


class LocateLabelOptions(SpanClassifierOptions):
    score_share: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share of the span classifier in an entity's score; 0: no rescoring, as the label classifier reads it already."""
    soft_nms: float | None = Field(default=0.7, gt=0.0, lt=1.0)
    """A span loses score to better ones that nearly equal it: from this IoU on, the paper's k; none: it does not."""


class Config(SpanHeadConfig):
    PAPER: ClassVar[Mapping[str, Any]] = {
        "lengths": [1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 15],
        "dropout": 0.5,
        "extra_features": False,
        "span_classifier": {"width": 0},
        "negatives": 5,
        "fragments": False,
    }
    PAPER_OPTIONS: ClassVar[Mapping[str, Any]] = {"soft_nms": 0.6}
    one_label: ClassVar[bool] = True

    architecture: Literal["locate_label"] = "locate_label"
    lengths: tuple[PositiveInt, ...] | None = Field(default=None, min_length=1)
    """Lengths of the seed spans of training in words; unset: 1 to the 99th percentile of the training entities, at most 16.
    Prediction tries every length up to the longest."""
    dropout: float = Field(default=0.3, ge=0.0, lt=1.0)
    """Dropout on the inputs of filter, regressor and classifier."""
    extra_features: bool = True
    """Whether they also read the product of the two boundary words, as a biaffine classifier does, and the encoder's vector of
    the whole sentence."""
    span_classifier: ReadSpanClassifierConfig = ReadSpanClassifierConfig()
    filter: bool = True
    """Off: every seed goes on to the regressor and the classifier."""
    regressor: bool = True
    """Off: seeds are classified where they are."""
    negatives: int = Field(default=20, ge=0)
    """Negatives for each positive seed of a sentence, drawn anew in each epoch."""
    soft_examples: bool = True
    """Whether examples near the border between positive and negative weigh less (equation 11)."""

    @field_validator("lengths")
    @classmethod
    def _in_order(cls, lengths: tuple[int, ...] | None) -> tuple[int, ...] | None:
        return tuple(sorted(set(lengths))) if lengths is not None else None

    @property
    def longest(self) -> int:
        """Words of the longest seed."""
        return max(self.lengths or (LONGEST_FITTED,))

    def fitted(self, statistics: CorpusStatistics) -> Self:
        fitted = super().fitted(statistics)
        if self.lengths:
            return fitted
        enough = int(np.quantile(statistics.spans or (1,), 0.99, method="higher"))
        return fitted.updated({"lengths": list(range(1, min(enough, LONGEST_FITTED, statistics.most_words) + 1))}, "head")

    def too_long(self, words: int, window: int) -> str | None:
        if self.regressor or words <= self.longest:
            return None
        return f"longer than the longest seed, {self.longest} words, and there is no regressor"

    def thresholds(self) -> tuple[Threshold, ...]:
        score = Threshold("score", 0.1, 0.5, tuple(round(0.1 + 0.025 * i, 3) for i in range(33)))
        located = (Threshold("filter", 0.1, 0.2, (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6)),) if self.filter else ()
        return (*self.score_thresholds(score), *located)
