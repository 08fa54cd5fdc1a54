"""Settings of the rival."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field

from anyner.architectures.settings import CorpusStatistics, HeadConfig, Options, Shape

LONGEST = 160


class SequenceOptions(Options):
    beam: int = Field(default=4, ge=1)
    length_power: float = Field(default=1.0, ge=0.0)
    """Sequences are ranked by log probability over this power of their length; without it the empty one wins too often."""


class Config(HeadConfig):
    architecture: Literal["sequence"] = "sequence"
    layers: int = Field(default=2, ge=1)
    dropout: float = Field(default=0.1, ge=0.0, lt=1.0)
    longest: int | None = Field(default=None, ge=1)
    """Maximum symbols of a sequence; default: enough for the training document with the most entities, at most 160."""
    most_units: int | None = Field(default=None, ge=1)

    def fitted(self, statistics: CorpusStatistics) -> Self:
        room = statistics.most_in_a_document * (max(statistics.lengths, default=1) + 1) + 2
        return self.updated(
            {"longest": self.longest or min(room, LONGEST), "most_units": self.most_units or statistics.most_words}, "head"
        )

    def shapes(self) -> frozenset[Shape]:
        return frozenset({"flat", "nested", "crossing", "discontinuous"})
