"""Settings of the biaffine span classifier."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from anyner.architectures.settings import HeadConfig, Shape, Threshold


class Config(HeadConfig):
    architecture: Literal["biaffine"] = "biaffine"
    width: int = Field(default=192, ge=1)
    """Width of the start and end vectors."""
    dropout: float = Field(default=0.2, ge=0.0, lt=1.0)
    """Dropout on the start and end vectors."""
    length_buckets: int = Field(default=64, ge=1)
    """Spans of this many words and more share one learned length score."""
    prior: float = Field(default=0.01, gt=0.0, lt=1.0)
    """Probability every span starts with: almost none is an entity, and learning that first would waste steps."""

    def thresholds(self) -> tuple[Threshold, ...]:
        return (Threshold("score", 0.1, 0.5, tuple(round(0.1 + 0.025 * i, 3) for i in range(33))),)

    def shapes(self) -> frozenset[Shape]:
        return frozenset({"flat", "nested", "crossing"})
