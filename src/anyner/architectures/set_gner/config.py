"""Settings of entity set generation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from anyner.architectures.generation import GenerationConfig, GenerationOptions, half_more
from anyner.architectures.settings import CorpusStatistics, Threshold

PIECES_OF_A_WORD = 4
"""Pieces per word that `farthest` has room for when entities are spelt in pieces."""


LEAST_LIKELY = 0.03
"""Probability that the span classifier must give a span for the search to reach so far; the same with looser thresholds, so that
tuning sees what prediction will."""
ILLEGAL = -1e4
"""The logit of what may not follow: finite, so that a sequence where nothing else is left has no NaN."""


class SetOptions(GenerationOptions):
    beam: int = Field(default=4, ge=1)
    """Beam width at each head word, the paper's beta; also the most entities that one word can begin."""


class Config(GenerationConfig):
    architecture: Literal["set_gner"] = "set_gner"
    reads: Literal["pieces", "words"] | None = None
    """What the decoder's cross-attention reads: the encoder's pieces (the paper), or words, which then also carry position
    embeddings. Left open: pieces for a pretrained decoder, else words."""
    unit: Literal["words", "pieces"] = "words"
    """What sequences consist of: words, or the encoder's pieces (the paper's ablation)."""
    constrained: bool = True
    """Whether only legal symbols have a probability (a later word, a label) and a label ends a sequence; or every symbol, with an
    end symbol behind the label (the paper)."""
    interval: int = Field(default=4, ge=0)
    """Positions between two head words, the paper's tau; less where a pretrained position table ends. 0: all sequences of a
    sentence have the same positions (the paper's ablation)."""
    distances: int = Field(default=0, ge=0)
    """Distances to the next word with an embedding of their own, longer ones sharing the last; 0: none (the paper)."""
    parts: bool = True
    """Whether a classifier detects the words that entities begin with, or every word starts a sequence (the ablation)."""
    occurrences: bool = True
    """Whether a classifier says how many entities a word begins, or it is always one (the ablation)."""
    inverse: bool = False
    """Inverse generation training: every other step trains a second decoder that generates from the last word to the first.
    It is not saved."""

    FARTHEST_IN_WORDS: ClassVar[bool] = False
    PAPER: ClassVar[Mapping[str, Any]] = {"reads": "pieces", "constrained": False, "span_classifier": {"width": 0}}
    PAPER_OPTIONS: ClassVar[Mapping[str, Any]] = {"more": "argmax"}

    def symbols(self, labels: int) -> int:
        """What sequences can consist of besides units: the labels, "no entity", "fragment", and an end symbol if there is one."""
        return labels + (2 if self.constrained else 3)

    @property
    def spelt_in(self) -> Literal["words", "pieces"]:
        return self.unit

    def fitted(self, statistics: CorpusStatistics) -> Self:
        """`longest` is half more than the longest of the training corpus."""
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
