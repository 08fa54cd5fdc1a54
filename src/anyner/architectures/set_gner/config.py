"""Settings of entity set generation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from anyner.architectures.generation import GenerationConfig, GenerationOptions, half_more
from anyner.architectures.settings import CorpusStatistics, Threshold

PIECES_OF_A_WORD = 4
"""Pieces per word that `farthest` allows for if the units are pieces."""
LEAST_LIKELY = 0.03
"""Minimum span classifier probability of spans that the search considers; the same for all thresholds, so that tuning sees
what prediction will."""
ILLEGAL = -1e4
"""Logit of an illegal symbol: finite, so that there is no NaN if no symbol is legal."""
NONE = float("-inf")
"""Log probability of no sequence."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the search."""

    beam: int
    """Beam width, and the number of entities to keep per head."""
    longest: int
    least: float = NONE
    """Log probability below which sequences are pruned, since continuing only lowers it."""
    by_length: bool = False
    """Whether to rank sequences by log probability divided by length (the paper), or by probability."""


class SetOptions(GenerationOptions):
    beam: int = Field(default=4, ge=1)
    """Beam width at each head word, the paper's beta; also the maximum number of entities that start at one word."""


class Config(GenerationConfig):
    architecture: Literal["set_gner"] = "set_gner"
    reads: Literal["pieces", "words"] | None = None
    """What the decoder's cross-attention reads: the encoder's pieces (the paper), or words, which then also have position
    embeddings. Unset: pieces for a pretrained decoder, else words."""
    unit: Literal["words", "pieces"] = "words"
    """Units of the generated sequences: words, or the encoder's pieces (the paper's ablation)."""
    constrained: bool = True
    """Whether only legal symbols (later words, labels) are in the softmax, and a label ends a sequence. If not, all symbols
    are, and an end symbol follows the label (the paper)."""
    interval: int = Field(default=4, ge=0)
    """Distance between the positions of adjacent head words, the paper's tau; less if a pretrained position table is too short.
    0: all sequences of a sentence have the same positions (the paper's ablation)."""
    distances: int = Field(default=0, ge=0)
    """Number of embeddings of the distance to the next word; longer distances share the last. 0: none (the paper)."""
    parts: bool = True
    """Whether a classifier detects head words; if not, every word starts a sequence (the paper's ablation)."""
    occurrences: bool = True
    """Whether a classifier predicts the number of entities at a head word; if not, it is one (the paper's ablation)."""
    inverse: bool = False
    """Inverse generation training: every other step trains a second decoder that generates from the last word to the first.
    It is not saved."""

    FARTHEST_IN_WORDS: ClassVar[bool] = False
    PAPER: ClassVar[Mapping[str, Any]] = {"reads": "pieces", "constrained": False, "span_classifier": {"width": 0}}
    PAPER_OPTIONS: ClassVar[Mapping[str, Any]] = {"more": "argmax"}

    def symbols(self, labels: int) -> int:
        """Number of symbols besides units: the labels, "no entity", "fragment" and, unless constrained, an end symbol."""
        return labels + (2 if self.constrained else 3)

    @property
    def unit_kind(self) -> Literal["words", "pieces"]:
        return self.unit

    def fitted(self, statistics: CorpusStatistics) -> Self:
        """`longest` is 1.5 times the longest entity of the training corpus."""
        in_words, decoder = self.unit == "words", self.decoder_kind(statistics)
        own = {
            "decoder": decoder,
            "reads": "pieces" if decoder == "pretrained" else "words",
            "longest": half_more(statistics.lengths if in_words else statistics.piece_lengths, statistics),
            "farthest": min(
                half_more(statistics.spans, statistics) * (1 if in_words else PIECES_OF_A_WORD), statistics.most_words
            ),
            "contiguous": self.constrained and not statistics.discontinuous,
        }
        return self.fitted_with(statistics, own)

    def thresholds(self) -> tuple[Threshold, ...]:
        every = self.score_thresholds("head" if self.parts else None)
        if self.constrained or self.span_classifier.width:
            return every
        return every[: int(self.parts)]  # the paper keeps the best of each head, whatever their probability
