"""Settings of the biaffine span classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field

from anyner.architectures.settings import CorpusStatistics, HeadConfig, Shape, Threshold
from anyner.text.align import WordEntity


class Config(HeadConfig):
    architecture: Literal["biaffine"] = "biaffine"
    width: int = Field(default=192, ge=1)
    """Width of the start and end vectors."""
    dropout: float = Field(default=0.2, ge=0.0, lt=1.0)
    """Dropout on the start and end vectors."""
    length_buckets: int = Field(default=64, ge=1)
    """Spans of this many words and more share one learned length score."""
    longest: int | None = Field(default=None, ge=1)
    """Most words of an entity; unset: twice the longest of the training corpus."""
    prior: float = Field(default=0.01, gt=0.0, lt=1.0)
    """Initial probability of every span: almost none is an entity, and learning that first would waste steps."""

    def fitted(self, statistics: CorpusStatistics) -> Self:
        longest = min(2 * max(statistics.spans, default=1), statistics.most_words)
        return self if self.longest else self.updated({"longest": longest}, "head")

    def unreachable(self, entities: Sequence[WordEntity], pieces: Sequence[int]) -> list[str | None]:
        reasons = super().unreachable(entities, pieces)
        for place, entity in enumerate(entities):
            if reasons[place] is None and self.longest and entity.last - entity.first >= self.longest:
                reasons[place] = f"longer than head.longest, {self.longest} words"
        return reasons

    def thresholds(self) -> tuple[Threshold, ...]:
        return (Threshold("score", 0.1, 0.5, tuple(round(0.1 + 0.025 * i, 3) for i in range(33))),)

    def shapes(self) -> frozenset[Shape]:
        return frozenset({"flat", "nested", "crossing"})
