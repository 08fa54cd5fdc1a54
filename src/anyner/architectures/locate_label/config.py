"""Settings of the two-stage identifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator

from anyner.architectures.settings import (
    CorpusStatistics,
    HeadConfig,
    ReadSpanClassifierConfig,
    Shape,
    SpanClassifierOptions,
    Threshold,
    with_second_labels,
)
from anyner.text.align import WordEntity

LONGEST_FITTED = 16
"""Most words of a seed when the lengths come from the corpus: the longest seed of the paper's experiments."""


class LocateLabelOptions(SpanClassifierOptions):
    score_share: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Share of the span classifier in an entity's score; 0: no rescoring, as the label classifier reads it already."""
    all_lengths: bool = True
    """Whether prediction tries every seed length up to the longest, or only those of training (`head.lengths`)."""
    soft_nms: bool = True
    """Whether a span loses score to better ones that nearly equal it (Algorithm 1)."""
    decay: float = Field(default=0.9, gt=0.0, le=1.0)
    """By this factor: the paper's u."""
    decay_iou: float = Field(default=0.7, gt=0.0, le=1.0)
    """Two spans nearly equal each other from this IoU on: the paper's k."""


class Config(HeadConfig):
    PAPER: ClassVar[Mapping[str, Any]] = {
        "lengths": [1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 15],
        "dropout": 0.5,
        "boundary_product": False,
        "sentence_vector": False,
        "span_classifier": {"width": 0},
        "negatives": 5,
    }
    PAPER_OPTIONS: ClassVar[Mapping[str, Any]] = {"all_lengths": False, "decay_iou": 0.6}

    architecture: Literal["locate_label"] = "locate_label"
    lengths: tuple[int, ...] | None = Field(default=None, min_length=1)
    """Lengths of the seed spans in words; unset: 1 to the 99th percentile of the training entities, at most 16."""
    width: int = Field(default=256, ge=1)
    """Width of the hidden layers of filter, regressor and classifier."""
    dropout: float = Field(default=0.3, ge=0.0, lt=1.0)
    """Dropout on the inputs of these three networks."""
    boundary_product: bool = True
    """Whether they also read the product of the two boundary words, as a biaffine classifier does."""
    sentence_vector: bool = True
    """Whether they also read the encoder's vector of the whole sentence."""
    span_classifier: ReadSpanClassifierConfig = ReadSpanClassifierConfig()
    filter: bool = True
    """Off: every seed goes on to the regressor and the classifier."""
    regressor: bool = True
    """Off: seeds are classified where they are."""
    positive_iou: float = Field(default=0.7, ge=0.0, lt=1.0)
    """A seed above this IoU with an entity is a positive of the first stage: the paper's alpha 1."""
    label_iou: float = Field(default=1.0, gt=0.0, le=1.0)
    """A shifted span from this IoU on gets the entity's label: the paper's alpha 2."""
    negatives: int = Field(default=20, ge=0)
    """Negatives for each positive seed of a sentence, drawn anew in each epoch."""
    soft_examples: bool = True
    """Whether examples near the border between positive and negative weigh less (equation 11)."""

    @field_validator("lengths")
    @classmethod
    def _in_order(cls, lengths: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if lengths is not None and min(lengths) < 1:
            raise ValueError("a seed has at least one word")
        return tuple(sorted(set(lengths))) if lengths is not None else None

    @property
    def longest(self) -> int:
        """Words of the longest seed."""
        return max(self.lengths or (LONGEST_FITTED,))

    def seed_lengths(self, all_lengths: bool) -> tuple[int, ...]:
        every = tuple(range(1, self.longest + 1))
        return every if all_lengths else self.lengths or every

    def fitted(self, statistics: CorpusStatistics) -> Self:
        if self.lengths:
            return self
        enough = int(np.quantile(statistics.spans or (1,), 0.99, method="higher"))
        return self.updated({"lengths": list(range(1, min(enough, LONGEST_FITTED, statistics.most_words) + 1))}, "head")

    def unreachable(self, entities: Sequence[WordEntity], pieces: Sequence[int]) -> list[str | None]:
        reasons = super().unreachable(entities, pieces)
        for place, entity in enumerate(entities):
            if reasons[place] is None and not self.regressor and entity.last - entity.first >= self.longest:
                reasons[place] = f"longer than the longest seed, {self.longest} words, and there is no regressor"
        return with_second_labels(reasons, entities)

    def thresholds(self) -> tuple[Threshold, ...]:
        score = Threshold("score", 0.1, 0.5, tuple(round(0.1 + 0.025 * i, 3) for i in range(33)))
        return (score, Threshold("filter", 0.1, 0.2, (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6))) if self.filter else (score,)

    def shapes(self) -> frozenset[Shape]:
        return frozenset({"flat", "nested", "crossing"})
