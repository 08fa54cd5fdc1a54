"""Settings of boundary diffusion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from anyner.architectures.settings import (
    CorpusStatistics,
    ReadSpanClassifierConfig,
    SpanClassifierOptions,
    SpanHeadConfig,
    Threshold,
)
from anyner.settings import recorded

VOTES_AGAINST = 1.0
"""Prior votes against every span: one confident prediction must not score as high as many that agree."""
_SEGMENT_WORDS, _COVERED = 32, 0.995


class DiffusionOptions(SpanClassifierOptions):
    spans: int = Field(default=60, ge=1)
    """Noisy spans to start from, the paper's K; may differ from training."""
    steps: int = Field(default=5, ge=1)
    """Denoising steps, the paper's gamma."""
    after_step: int | None = Field(default=None, ge=1)
    """Read entities after this step, to inspect the denoising; none: after the last."""
    samples: int = Field(default=1, ge=1)
    """Number of runs from different noise. An entity's score is its mean over them; a run that misses it counts as 0."""
    voting: bool = True
    """Whether the predictions of all steps vote on each span; off: its best prediction in the last step counts (paper)."""


class DiffusionSpanClassifierConfig(ReadSpanClassifierConfig):
    loss_weight: float = Field(default=40.0, ge=0.0)


class Config(SpanHeadConfig):
    PAPER: ClassVar[Mapping[str, Any]] = {
        "denoiser": "paper",
        "width": None,
        "expansion": "repeat",
        "matching": "predictions",
        "span_classifier": {"width": 0},
        "fragments": False,
    }
    """As in the authors' released settings. K, T and the schedule are the defaults."""
    PAPER_OPTIONS: ClassVar[Mapping[str, Any]] = {"voting": False}
    one_label: ClassVar[bool] = True

    architecture: Literal["diffusion_ner"] = "diffusion_ner"
    spans: int = Field(default=60, ge=1)
    """Noisy spans of a sentence in training, the paper's K."""
    schedule: Literal["cosine", "linear"] = "cosine"
    diffusion_steps: int = Field(default=1000, ge=2)
    """Steps from a clean span to noise, the paper's T."""
    denoiser: Literal["default", "paper"] = "default"
    """The network. `default`: one pre-norm layer, the step embedding added before it, words with positions, a bilinear pointer,
    the type from the predicted boundary words and the span. `paper`: two wider post-norm layers, the step embedding added after
    them, embeddings of the spans' numbers instead of positions, an additive pointer, the type from the span."""
    width: int | None = Field(default=256, ge=8, multiple_of=8)
    """Width of the denoiser; none: the encoder's (paper)."""
    dropout: float = Field(default=0.1, ge=0.0, lt=1.0)
    attention: Literal["both", "self", "cross", "none"] = "both"
    """Whether spans attend to each other, to the words, or both (Table 4 of the paper)."""
    span_classifier: DiffusionSpanClassifierConfig = DiffusionSpanClassifierConfig()
    expansion: Literal["shifted", "repeat", "random"] = "shifted"
    """How gold is filled up to `spans` before noising: `repeat` it, add `random` spans, or repeat it with every second
    round `shifted` to another place, like the mistakes that prediction has to correct."""
    matching: Literal["inputs", "predictions", "one_to_one"] = "inputs"
    """What a noisy span learns. `inputs`: the entity nearest to it, or none if it overlaps none, and the type of the span it
    predicts. `predictions`: the entity that bipartite matching on the predictions assigns, with gold repeated to all spans (the
    authors' code). `one_to_one`: the same without repetition; other spans learn no entity (the paper's text)."""
    segment_words: int | None = recorded(ge=0)
    """Longer windows are denoised in overlapping segments of this many words, because K spans suit one sentence: 32, or more
    where one training entity in two hundred is longer than 16 words. 0: windows are never cut, as with `denoiser: paper`."""

    def fitted(self, statistics: CorpusStatistics) -> Self:
        fitted = super().fitted(statistics)
        if self.segment_words is not None:
            return fitted
        if self.denoiser == "paper":
            return fitted.updated({"segment_words": 0}, "head")
        long = int(np.quantile(statistics.spans or (1,), _COVERED, method="higher"))
        return fitted.updated({"segment_words": max(_SEGMENT_WORDS, min(2 * long, statistics.most_words))}, "head")

    def too_long(self, words: int, window: int) -> str | None:
        segment = self.segment_words or window
        return f"longer than head.segment_words, {segment} words" if words > segment else None

    def thresholds(self) -> tuple[Threshold, ...]:
        """On the share of votes; without voting, on the mean of three probabilities: a third of the paper's phi."""
        return self.score_thresholds(Threshold("score", 0.1, 0.4, tuple(round(0.1 + 0.025 * i, 3) for i in range(36))))
