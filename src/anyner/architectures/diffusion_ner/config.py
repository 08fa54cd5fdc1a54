"""Settings of boundary diffusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

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

_SEGMENT_WORDS, _COVERED = 32, 0.995


class DiffusionOptions(SpanClassifierOptions):
    spans: int = Field(default=60, ge=1)
    """Noisy spans to start from, the paper's K; independent of training."""
    steps: int = Field(default=5, ge=1)
    """Denoising steps, the paper's gamma."""
    eta: float = Field(default=1.0, ge=0.0, le=1.0)
    """New noise in each step: 0 none (the paper's text), 1 as much as was removed (the authors' code)."""
    samples: int = Field(default=1, ge=1)
    """Runs from different noise. An entity's score is its mean over them; a run that misses it counts as 0."""
    voting: bool = True
    """Whether the predictions of all steps vote on each span; off: the best prediction of the last step stays (paper)."""


class Config(HeadConfig):
    PAPER: ClassVar[Mapping[str, Any]] = {
        "segment_words": 0,
        "denoiser": "paper",
        "width": None,
        "layers": 2,
        "heads": 8,
        "feed_forward": 1024,
        "slot_embedding": True,
        "pointer": "additive",
        "expansion": "repeat",
        "matching": "predictions",
        "span_classifier": {"width": 0},
    }
    """As the authors' released settings have it. K, T, lambda, the schedule and the span features are the defaults."""
    PAPER_OPTIONS: ClassVar[Mapping[str, Any]] = {"voting": False}

    architecture: Literal["diffusion_ner"] = "diffusion_ner"
    spans: int = Field(default=60, ge=1)
    """Noisy spans of a sentence in training, the paper's K."""
    segment_words: int | None = Field(default=None, ge=0)
    """Longer windows are denoised in overlapping segments of so many words, because K spans suit one sentence. 0: windows are
    never cut (paper). Left open: 32, or more where one training entity in two hundred is longer than 16 words."""
    schedule: Literal["cosine", "linear"] = "cosine"
    diffusion_steps: int = Field(default=1000, ge=2)
    """Steps from a clean span to noise, the paper's T."""
    scale: float = Field(default=1.0, gt=0.0)
    """Scale of clean states relative to unit noise, the paper's lambda."""
    denoiser: Literal["default", "paper"] = "default"
    """The network. `default`: pre-norm layers that know the step, words with positions, the type read from the predicted
    boundary words and the span. `paper`: post-norm layers, the step added behind them, no positions, the type from the span."""
    width: int | None = Field(default=256, ge=8)
    """Width of the denoiser; none: the encoder's (paper)."""
    layers: int = Field(default=1, ge=0)
    heads: int = Field(default=4, ge=1)
    feed_forward: int = Field(default=512, ge=1)
    dropout: float = Field(default=0.1, ge=0.0, lt=1.0)
    attention: Literal["both", "self", "cross", "none"] = "both"
    """Whether spans attend to each other, to the words, or both (Table 4 of the paper)."""
    span_features: Literal["boundaries", "mean"] = "boundaries"
    """What a noisy span is read from: its first and last word (the authors' code) or the mean of its words (the paper's text)."""
    slot_embedding: bool = False
    """Whether each of the K spans has an embedding of its number (the authors' code)."""
    pointer: Literal["bilinear", "additive"] = "bilinear"
    """How spans and words are scored as boundaries: a product (fast), or the paper's sum through a layer."""
    span_classifier: ReadSpanClassifierConfig = ReadSpanClassifierConfig()
    expansion: Literal["shifted", "repeat", "random"] = "shifted"
    """How gold is filled up to `spans` before noising: repeated, with random spans, or repeated with every second round shifted
    to another place, where it looks like the mistakes that prediction has to undo."""
    matching: Literal["inputs", "predictions", "one_to_one"] = "inputs"
    """What a noisy span learns. `inputs`: the entity nearest to it, or none if it touches none, and the type of the span it
    predicts. `predictions`: the entity that bipartite matching on the predictions assigns, with gold repeated to all spans (the
    authors' code). `one_to_one`: the same without repetition; other spans learn no entity (the paper's text)."""

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.width and (self.width % self.heads or self.width % 2):
            raise ValueError(f"width {self.width} must be even and a multiple of heads {self.heads}")
        return self

    def fitted(self, statistics: CorpusStatistics) -> Self:
        if self.segment_words is not None:
            return self
        long = int(np.quantile(statistics.spans or (1,), _COVERED, method="higher"))
        return self.updated({"segment_words": max(_SEGMENT_WORDS, min(2 * long, statistics.most_words))}, "head")

    def unreachable(self, entities: Sequence[WordEntity], pieces: Sequence[int]) -> list[str | None]:
        reasons = with_second_labels(super().unreachable(entities, pieces), entities)
        if not self.segment_words or len(pieces) <= self.segment_words:
            return reasons
        too_long = f"longer than head.segment_words, {self.segment_words} words"
        return [
            reason or (too_long if entity.last - entity.first >= self.segment_words else None)
            for reason, entity in zip(reasons, entities, strict=True)
        ]

    def thresholds(self) -> tuple[Threshold, ...]:
        """Of the share of votes; without voting a third of the paper's phi: the mean of three probabilities, not their sum."""
        return (Threshold("score", 0.1, 0.4, tuple(round(0.1 + 0.025 * i, 3) for i in range(36))),)

    def shapes(self) -> frozenset[Shape]:
        return frozenset({"flat", "nested", "crossing"})
