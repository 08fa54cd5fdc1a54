"""Settings of the rival."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field

from anyner.architectures.settings import CorpusStatistics, HeadConfig, Options, Shape


class SequenceOptions(Options):
    beam: int = Field(default=4, ge=1)
    length_power: float = Field(default=1.0, ge=0.0)
    """Sequences are ranked by log probability over this power of their length; without it the empty one wins too often."""


class Config(HeadConfig):
    architecture: Literal["sequence"] = "sequence"
    layers: int = Field(default=2, ge=1)
    dropout: float = Field(default=0.1, ge=0.0, lt=1.0)
    longest: int = Field(default=160, ge=1)
    """Maximum symbols of a sequence."""
    most_units: int | None = Field(default=None, ge=1)

    def fitted(self, statistics: CorpusStatistics) -> Self:
        return self if self.most_units else self.updated({"most_units": statistics.most_words}, "head")

    def shapes(self) -> frozenset[Shape]:
        return frozenset({"flat", "nested", "crossing", "discontinuous"})
