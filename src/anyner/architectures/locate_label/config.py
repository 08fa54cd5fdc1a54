"""Settings of the two-stage identifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from pydantic import Field, field_validator

from anyner.architectures.settings import CorpusFacts, HeadConfig, Options, Shape, Threshold, with_second_labels
from anyner.text.align import WordEntity

LONGEST_CHOSEN = 16
"""Most words of a seed when the lengths are chosen from the corpus: the longest of the papers' lists."""


class LocateLabelOptions(Options):
    all_lengths: bool = True
    """Whether every seed length up to the longest is tried, or only those of training (`head.lengths`)."""
    soft_nms: bool = True
    """Whether a span loses score to better ones that it nearly equals (Algorithm 1)."""
    decay: float = Field(default=0.9, gt=0.0, le=1.0)
    """The factor u of that loss."""
    decay_iou: float = Field(default=0.6, gt=0.0, le=1.0)
    """Two spans nearly equal each other from this IoU on: the paper's k."""


class Config(HeadConfig):
    architecture: Literal["locate_label"] = "locate_label"
    lengths: tuple[int, ...] | None = Field(default=None, min_length=1)
    """Words of the seed spans; left open: 1 to the length that 99 % of the training entities do not exceed, at most 16."""
    width: int = Field(default=256, ge=1)
    """Width of the hidden layers of filter, regressor and classifier."""
    dropout: float = Field(default=0.3, ge=0.0, lt=1.0)
    """Dropout on what they read."""
    boundary_product: bool = False
    """Whether they read the product of the two boundary words besides their sum, as a biaffine classifier does."""
    pairs: int = Field(default=0, ge=0)
    """Width of a bilinear form of the two boundary words, which the classifier also reads, as a biaffine one does; 0: none."""
    pairs_dropout: float = Field(default=0.2, ge=0.0, lt=1.0)
    """Dropout in it."""
    everywhere_weight: float = Field(default=0.0, ge=0.0)
    """Weight of what this form alone says about every span of the sentence; 0: only the classifier's spans teach it."""
    sentence_vector: bool = False
    """Whether they read the vector of the whole sentence, too."""
    filter: bool = True
    """Off: every seed goes on to the regressor and the classifier."""
    regressor: bool = True
    """Off: seeds are classified where they are."""
    offsets: Literal["linear", "tanh", "sigmoid"] = "linear"
    """What the regressor's output goes through; tanh and sigmoid are shares of the sentence, sigmoid moves to the right only."""
    positive_iou: float = Field(default=0.7, ge=0.0, lt=1.0)
    """A seed above this IoU with an entity is a positive of the first stage: the paper's alpha 1."""
    label_iou: float = Field(default=1.0, gt=0.0, le=1.0)
    """A moved span from this IoU on has the entity's label: the paper's alpha 2."""
    negatives: int = Field(default=5, ge=0)
    """Negatives for each positive seed of a sentence, drawn anew in each epoch."""
    spare_negatives: int = Field(default=2, ge=1)
    """Negatives beyond these, so that sentences without entities teach too."""
    soft_examples: bool = True
    """Whether examples near the border between positive and negative weigh less (equation 11)."""
    softness: float = Field(default=1.0, gt=0.0)
    """The exponent eta of those weights."""
    focus: float = Field(default=2.0, ge=0.0)
    """The exponent gamma of the focal loss."""
    classifier_loss: Literal["cross_entropy", "focal"] = "cross_entropy"
    filter_weight: float = Field(default=1.0, ge=0.0)
    regressor_weight: float = Field(default=0.1, ge=0.0)
    classifier_weight: float = Field(default=1.0, ge=0.0)
    loss_compat: bool = False
    """The losses as the authors' code computes them: sums instead of weighted means, so that soft examples do next to nothing."""

    @field_validator("lengths")
    @classmethod
    def _in_order(cls, lengths: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if lengths is not None and min(lengths) < 1:
            raise ValueError("a seed has at least one word")
        return tuple(sorted(set(lengths))) if lengths is not None else None

    @property
    def longest(self) -> int:
        """Words of the longest seed."""
        return max(self.lengths or (LONGEST_CHOSEN,))

    def seed_lengths(self, all_lengths: bool) -> tuple[int, ...]:
        every = tuple(range(1, self.longest + 1))
        return every if all_lengths else self.lengths or every

    def fitted(self, facts: CorpusFacts) -> Self:
        if self.lengths:
            return self
        enough = int(np.quantile(facts.spans or (1,), 0.99, method="higher"))
        return self.updated({"lengths": list(range(1, min(enough, LONGEST_CHOSEN, facts.most_words) + 1))}, "head")

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
