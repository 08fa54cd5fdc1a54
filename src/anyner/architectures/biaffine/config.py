"""Settings of the biaffine span classifier."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field

from anyner.architectures.settings import CorpusStatistics, SpanHeadConfig, Threshold
from anyner.settings import recorded


class Config(SpanHeadConfig):
    architecture: Literal["biaffine"] = "biaffine"
    width: int = Field(default=192, ge=1)
    """Width of the start and end vectors."""
    dropout: float = Field(default=0.2, ge=0.0, lt=1.0)
    """Dropout on the start and end vectors."""
    longest: int | None = recorded(ge=1)
    """Maximum words of an entity: twice the longest in the training corpus."""

    def fitted(self, statistics: CorpusStatistics) -> Self:
        longest = min(2 * max(statistics.spans, default=1), statistics.most_words)
        fitted = super().fitted(statistics)
        return fitted if self.longest else fitted.updated({"longest": longest}, "head")

    def too_long(self, words: int, window: int) -> str | None:
        return f"longer than head.longest, {self.longest} words" if self.longest and words > self.longest else None

    def thresholds(self) -> tuple[Threshold, ...]:
        return self.score_thresholds(Threshold("score", 0.1, 0.5, tuple(round(0.1 + 0.025 * i, 3) for i in range(33))))
