"""Settings that architectures with a decoder have in common. Imports no torch, and numpy only to compute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from anyner.architectures.settings import CorpusStatistics, HeadConfig, RescoringSpanClassifierConfig, Shape, Threshold
from anyner.text.align import WordEntity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

PRETRAINED_RATE = 0.05
"""Share of `training.head_lr` at which a pretrained decoder learns."""
MOST_AT_ONE_WORD = 8
"""Entities at one word that are told apart at most when the corpus decides."""


class GenerationConfig(HeadConfig):
    decoder: Literal["pretrained", "encoder", "new"] | None = None
    """Where the decoder starts from: the encoder's other half (BART and T5 kinds), the encoder's upper layers (BERT kinds), or
    nothing. Left open: pretrained where the encoder has another half, else new."""
    layers: int | None = Field(default=None, ge=1)
    """Layers of the decoder; left open: 2, of a pretrained one all."""
    width: int | None = Field(default=None, ge=8)
    """Width of a new decoder; left open: that of the word vectors."""
    dropout: float = Field(default=0.1, ge=0.0, lt=1.0)
    farthest: int | None = Field(default=None, ge=1)
    """Most units from an entity's first to its last; left open: half more than in the training corpus."""
    most_at_one_word: int | None = Field(default=None, ge=1)
    """Most entities that one word begins, O_max; left open: as in the training corpus, at most 8."""
    contiguous: bool | None = None
    """Whether all entities are contiguous: then the search is simpler and exact. Left open: as in the training corpus."""

    span_classifier: RescoringSpanClassifierConfig = RescoringSpanClassifierConfig()

    def decoder_kind(self, statistics: CorpusStatistics) -> Literal["pretrained", "encoder", "new"]:
        return self.decoder or ("pretrained" if statistics.encoder_decoder else "new")

    def expressible(self, first: Integers, last: Integers, units: Integers) -> NDArray[np.bool_]:
        """Which entities from a first to a last unit, of so many units, can be written; others would be impossible targets."""
        import numpy as np

        reach = last - first + 1
        whole = reach == units if self.contiguous else np.ones_like(reach, dtype=bool)
        return whole & (reach <= self.farthest) if self.farthest is not None else whole

    def too_many(self, reasons: Sequence[str | None], entities: Sequence[WordEntity]) -> list[str | None]:
        """The reasons of `unreachable`, with those added that are one too many at their first word."""
        told, begun = list(reasons), Counter[int]()
        for place, entity in enumerate(entities):
            if told[place] is None:
                begun[entity.first] += 1
                if self.most_at_one_word and begun[entity.first] > self.most_at_one_word:
                    told[place] = f"more than head.most_at_one_word, {self.most_at_one_word}, begin at its first word"
        return told

    def least_scores(self, loosest: float, default: float, candidates: tuple[float, ...]) -> tuple[Threshold, ...]:
        """What scores have to reach. Discontinuous entities have a threshold of their own: they are few and score low, and the
        best threshold for all entities hides half of them."""
        score = Threshold("score", loosest, default, candidates)
        discontinuous = Threshold("discontinuous", loosest, default, candidates, tuned_on="discontinuous")
        return (score,) if self.contiguous else (score, discontinuous)

    def shapes(self) -> frozenset[Shape]:
        return frozenset({"flat", "nested", "crossing"} if self.contiguous else {"flat", "nested", "crossing", "discontinuous"})


def least_score(thresholds: Mapping[str, float], discontinuous: bool) -> float:
    """What a contiguous or a discontinuous entity has to reach."""
    return thresholds.get("discontinuous", thresholds["score"]) if discontinuous else thresholds["score"]


def loosest_score(thresholds: Mapping[str, float]) -> float:
    return min(least_score(thresholds, discontinuous) for discontinuous in (False, True))


def most_at_one_word(statistics: CorpusStatistics) -> int:
    return min(max(statistics.most_at_one_word, 1), MOST_AT_ONE_WORD)


def half_more(sizes: Sequence[int], statistics: CorpusStatistics) -> int:
    """Half more than the largest, as far as a window reaches: what is longer could never be written."""
    size = max(sizes, default=1)
    return min(size + (size + 1) // 2, statistics.most_words)
