"""Settings of boundary denoising diffusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from anyner.architectures.settings import CorpusFacts, HeadConfig, Options, Shape, Threshold, with_second_labels
from anyner.text.align import WordEntity

_SHORTEST_STRETCH, _COVERED = 32, 0.995


class DiffusionOptions(Options):
    spans: int = Field(default=60, ge=1)
    """Noisy spans to start from, the paper's K; independent of training."""
    steps: int = Field(default=5, ge=1)
    """Denoising steps, the paper's gamma."""
    eta: float = Field(default=1.0, ge=0.0, le=1.0)
    """Fresh noise in each step: 0 none, as in the paper; 1 as much as was taken away, as in the authors' code."""
    samples: int = Field(default=1, ge=1)
    """How often to start anew; an entity's score is then the mean over all samples, those that miss it counting as 0."""
    every_step: bool = True
    """Whether what the steps before the last found counts too."""
    voting: bool = True
    """Whether all answers for the same words are counted together, or the best of them stays (paper and code)."""
    check_share: float = Field(default=0.5, ge=0.0, lt=1.0)
    """Share of what the bilinear form alone says in an entity's score (`head.pairs`, if it learns everywhere); 0: none."""
    renewal: bool = False
    """Whether spans that found nothing start anew from fresh noise before the next step."""


class Config(HeadConfig):
    architecture: Literal["diffusion_ner"] = "diffusion_ner"
    spans: int = Field(default=60, ge=1)
    """Noisy spans of a sentence in training, the paper's K."""
    stretch: int | None = Field(default=None, ge=2)
    """Most words that are denoised together: longer windows are cut, for the K spans are meant for one sentence. Left open: 32,
    or more where one entity in two hundred of the training corpus is longer than 16."""
    schedule: Literal["cosine", "linear"] = "cosine"
    diffusion_steps: int = Field(default=1000, ge=2)
    """Steps from a clean span to noise, the paper's T."""
    state: Literal["width", "boundaries"] = "width"
    """What is noised: first word and width (the authors' code), or first and last word (the paper)."""
    scale: float = Field(default=1.0, gt=0.0)
    """How far a clean state reaches beside noise of spread 1, the paper's lambda."""
    width: int = Field(default=256, ge=8)
    """Width of the denoiser, independent of the encoder's."""
    layers: int = Field(default=1, ge=0)
    heads: int = Field(default=4, ge=1)
    feed_forward: int = Field(default=512, ge=1)
    dropout: float = Field(default=0.1, ge=0.0, lt=1.0)
    span_features: Literal["boundaries", "mean", "both"] = "boundaries"
    """What a span is seen as: its first and last word (code), the mean of its words (paper), or both."""
    slot_embedding: bool = False
    """Whether every span also knows its number (code) or not (paper)."""
    time: Literal["add", "scale_shift"] = "add"
    """How the step enters."""
    time_in_attention: bool = True
    """Whether the step is known before the layers, or only behind them as in paper and code."""
    word_positions: bool = True
    """Whether words and spans know where in the sentence they are, or only what stands there as in paper and code."""
    type_reads: Literal["boundaries", "span"] = "boundaries"
    """What the type is read from: the words that the pointers point at and the span, or the span alone (paper and code)."""
    pairs: int = Field(default=128, ge=0)
    """Width of a bilinear form of the two words pointed at, which the type also reads, as a biaffine classifier does; 0: none, as
    in paper and code."""
    pairs_dropout: float = Field(default=0.2, ge=0.0, lt=1.0)
    """Dropout in it."""
    everywhere_weight: float = Field(default=1.0, ge=0.0)
    """Weight of what this form alone says about every span of the sentence; 0: only spans that are pointed at teach it."""
    self_attention: bool = True
    cross_attention: bool = True
    pointer: Literal["bilinear", "additive"] = "bilinear"
    """How a span points at its boundary words: a product (fast), or the paper's sum through a layer."""
    boundary_prior: float = Field(default=0.075, gt=0.0, lt=1.0)
    """Probability of being a boundary that every word starts with: few are, and learning that first would waste steps."""
    expansion: Literal["repeat", "random", "moved"] = "moved"
    """How gold is filled up to `spans` before noising: by repetition, by random spans, or by repetition with every second round
    moved elsewhere in the sentence, where it looks like the mistakes that prediction has to undo."""
    assignment: Literal["repeat", "one_to_one"] = "repeat"
    """Whether gold labels are repeated to all spans (code) or all but one span for each entity learn none (paper)."""
    matching: Literal["inputs", "predictions"] = "inputs"
    """Whether a span learns the entity nearest to where it lies, or the one that fits its answer best (paper and code)."""
    tie: float = Field(default=1.0, ge=0.0)
    """How strongly matching by predictions prefers the entity that was noised into a span, the less the more noise there is."""
    apart: Literal["nearest", "nothing"] = "nothing"
    """What spans that touch no entity learn in matching by inputs: to go to the nearest all the same, or to be nothing."""
    type_target: Literal["assigned", "pointed"] = "pointed"
    """Which type a span learns: of the entity assigned to it (paper and code), or of what it points at, most often none."""
    none_weight: float = Field(default=1.0, gt=0.0)
    """Weight of spans that should become nothing."""
    boundary_weight: float = Field(default=1.0, ge=0.0)
    type_weight: float = Field(default=1.0, ge=0.0)

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.width % self.heads or self.width % 2:
            raise ValueError(f"width {self.width} must be even and a multiple of heads {self.heads}")
        return self

    def fitted(self, facts: CorpusFacts) -> Self:
        if self.stretch:
            return self
        long = int(np.quantile(facts.spans or (1,), _COVERED, method="higher"))
        return self.updated({"stretch": max(_SHORTEST_STRETCH, min(2 * long, facts.most_words))}, "head")

    def unreachable(self, entities: Sequence[WordEntity], pieces: Sequence[int]) -> list[str | None]:
        reasons = with_second_labels(super().unreachable(entities, pieces), entities)
        for place, entity in enumerate(entities):
            if (
                reasons[place] is None
                and self.stretch
                and self.stretch < len(pieces)
                and entity.last - entity.first >= self.stretch
            ):
                reasons[place] = f"longer than head.stretch, {self.stretch} words"
        return reasons

    def thresholds(self) -> tuple[Threshold, ...]:
        """Of the share of votes; without voting the paper's phi, as the mean of the three probabilities instead of their sum."""
        return (Threshold("score", 0.1, 0.4, tuple(round(0.1 + 0.025 * i, 3) for i in range(36))),)

    def shapes(self) -> frozenset[Shape]:
        return frozenset({"flat", "nested", "crossing"})
