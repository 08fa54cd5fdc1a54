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

EVERY_LENGTH = 16
"""Seeds of every length up to this many words are tried, which is as long as in any of the paper's experiments."""
LENGTH_STEP = 1.25
"""Factor between the lengths of longer seeds: small enough for the regressor to reach every entity."""
LONGEST_FITTED = 128
"""Maximum length of a seed when the lengths come from the corpus, to bound memory."""
LONG_SCORE = 0.6
"""Upper limit of the threshold for entities longer than `EVERY_LENGTH`: they score lower, and dev has few to tune it on."""


class LocateLabelOptions(SpanClassifierOptions):
    score_share: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share of the span classifier in an entity's score; 0: no rescoring, as the label classifier reads it already."""
    soft_nms: float | None = Field(default=0.7, gt=0.0, lt=1.0)
    """IoU from which a span loses score to a better one (the paper's k); none: no soft-NMS."""


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
    """Lengths of the seed spans of training in words. Unset: 1 to the 99th percentile of the training entities; if that is more
    than 16, every length up to 16, then wider and wider steps to the longest entity. Prediction also tries the lengths in
    between, up to 16."""
    dropout: float = Field(default=0.3, ge=0.0, lt=1.0)
    """Dropout on the inputs of filter, regressor and classifier."""
    extra_features: bool = True
    """Whether they also read the product of the two boundary words, as a biaffine classifier does, and the encoder's vector of
    the whole sentence."""
    span_classifier: ReadSpanClassifierConfig = ReadSpanClassifierConfig()
    filter: bool = True
    """Whether seeds are filtered; off: every seed reaches the regressor and the classifier."""
    regressor: bool = True
    """Whether boundaries are shifted; off: seeds are classified as they are."""
    negatives: int = Field(default=20, ge=0)
    """Negative seeds for each positive one of a sentence, sampled anew in each epoch."""
    soft_examples: bool = True
    """Whether examples near the border between positive and negative weigh less (equation 11)."""

    @field_validator("lengths")
    @classmethod
    def _in_order(cls, lengths: tuple[int, ...] | None) -> tuple[int, ...] | None:
        return tuple(sorted(set(lengths))) if lengths is not None else None

    @property
    def longest(self) -> int:
        """Words of the longest seed."""
        return max(self.lengths or (EVERY_LENGTH,))

    @property
    def predicted_lengths(self) -> tuple[int, ...]:
        """Lengths of the seeds of prediction."""
        return tuple(sorted({*range(1, min(self.longest, EVERY_LENGTH) + 1), *(self.lengths or ())}))

    def fitted(self, statistics: CorpusStatistics) -> Self:
        fitted = super().fitted(statistics)
        if self.lengths:
            return fitted
        enough = min(int(np.quantile(statistics.spans or (1,), 0.99, method="higher")), statistics.most_words)
        longest = min(max(statistics.spans, default=1), statistics.most_words, LONGEST_FITTED)
        lengths = list(range(1, min(enough, EVERY_LENGTH) + 1))
        while enough > EVERY_LENGTH and lengths[-1] < longest:
            lengths.append(min(round(lengths[-1] * LENGTH_STEP), longest))
        return fitted.updated({"lengths": lengths}, "head")

    def too_long(self, words: int, window: int) -> str | None:
        if self.regressor or words <= self.longest:
            return None
        return f"longer than the longest seed, {self.longest} words, and there is no regressor"

    def thresholds(self) -> tuple[Threshold, ...]:
        score = Threshold("score", 0.1, 0.5, tuple(round(0.1 + 0.025 * i, 3) for i in range(33)))
        seeds = Threshold("filter", 0.1, 0.2, (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6), of_score=False)
        located = (seeds,) if self.filter else ()
        long = (Threshold("long", 0.1, LONG_SCORE, (LONG_SCORE,)),) if self.longest > EVERY_LENGTH else ()
        return (*self.score_thresholds(score), *located, *long)
