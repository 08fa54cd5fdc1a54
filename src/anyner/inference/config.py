"""`config.json` of a model folder: everything about a model except its weights and vocabulary."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from anyner.encoding.config import EncoderConfig
from anyner.overlap import Policy
from anyner.settings import Settings
from anyner.text.config import TextConfig

FORMAT = 3
"""Earlier versions: 1 had no separators between lines, 2 had other names for settings and weights."""
WeightFormat = Literal["float32", "bfloat16", "int8"]
Precision = Literal["auto", "float32", "bfloat16"]
"""Precision of matrix products; auto: bfloat16 on GPUs that have it, float32 elsewhere."""


_EPSILON = 1e-4
"""Scores are clipped to this distance from 0 and 1: closer ones differ by float32 noise, which a temperature would amplify."""


def logit(score: float) -> float:
    score = min(max(score, _EPSILON), 1 - _EPSILON)
    return math.log(score / (1 - score))


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))


class Calibration(Settings):
    """Maps a score to the probability that its entity is correct: sigmoid(logit(score) / temperature + bias).

    The architecture's thresholds are compared with uncalibrated scores, so a temperature neither adds nor removes an entity.
    """

    temperature: float = Field(ge=0.01, le=100.0)
    bias: float = Field(default=0.0, ge=-100.0, le=100.0)
    thresholds: dict[str, Annotated[float, Field(ge=0.0, le=1.0)]] = Field(default_factory=dict)
    """Minimum probability by label, for all labels or for none. They replace the architecture's thresholds on scores."""

    def probability(self, score: float) -> float:
        return sigmoid(logit(score) / self.temperature + self.bias)

    def score(self, probability: float) -> float:
        """The lowest score with at least this probability; above 1 if there is none."""
        if probability <= self.probability(0.0):
            return 0.0
        if probability > self.probability(1.0):
            return math.nextafter(1.0, 2.0)
        if probability >= 1.0:  # a high probability may round to 1
            return 1.0
        return sigmoid((math.log(probability / (1 - probability)) - self.bias) * self.temperature)


class ModelConfig(Settings):
    format: int = FORMAT
    """Version of this file; loading refuses all but the current one."""
    anyner_version: str
    architecture: str
    head: dict[str, Any]
    """Settings of the architecture; validated by its own `config.py`."""
    labels: tuple[str, ...] = Field(min_length=1)
    text: TextConfig
    encoder: EncoderConfig
    pretrained: dict[str, Any]
    """The Hugging Face config of the pretrained encoder."""
    thresholds: dict[str, float]
    options: dict[str, Any] = Field(default_factory=dict)
    """Default options of a call."""
    overlap: Policy
    seed: int = 0
    """Seed of the random numbers that the architecture draws in prediction."""
    weights: WeightFormat = "float32"
    weights_sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    """Checksum of the weights file, compared on loading; None for models saved without one."""
    calibration: Calibration | None = None
    """None: scores are the architecture's own."""

    @model_validator(mode="after")
    def _thresholds_of_all_labels(self) -> Self:
        named = self.calibration.thresholds.keys() if self.calibration is not None else ()
        if named and set(named) != set(self.labels):
            raise ValueError("calibration.thresholds: expected one for every label of the model, and no others")
        return self
