"""Settings of entity set generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from anyner.architectures.generation import GenerationConfig, half_more, most_at_one_word
from anyner.architectures.settings import CorpusStatistics, SpanClassifierOptions, Threshold
from anyner.text.align import WordEntity

PIECES_OF_A_WORD = 4
"""Pieces per word that `farthest` has room for when entities are spelt in pieces."""


class SetOptions(SpanClassifierOptions):
    beam: int = Field(default=4, ge=1)
    """Beam width at each head word, the paper's beta; also the most entities that one word can begin."""
    counting: Literal["threshold", "likeliest"] = "threshold"
    """How many entities a head word has: as many as are likely enough, given those before (`more`); or the likeliest number,
    equation 16 (the paper)."""
    more: float = Field(default=0.25, ge=0.0, le=1.0)
    """Probability that a further entity at a word needs, given those before it."""
    length_power: float = Field(default=0.0, ge=0.0)
    """Rank by log probability over this power of the sequence's length: 0 by probability, 1 as in the paper."""


class Config(GenerationConfig):
    architecture: Literal["set_gner"] = "set_gner"
    reads: Literal["pieces", "words"] | None = None
    """What the decoder's cross-attention reads: the encoder's pieces (the paper), or words. Left open: pieces for a pretrained
    decoder."""
    unit: Literal["words", "pieces"] = "words"
    """What sequences consist of: words, or the encoder's pieces (the paper's ablation)."""
    constrained: bool = True
    """Whether only legal symbols have a probability (a later word, a label) and a label ends a sequence; or every symbol, with an
    end symbol behind the label (the paper)."""
    interval: int = Field(default=4, ge=0)
    """Positions between two head words, the paper's tau; less where a pretrained position table ends. 0: all sequences of a
    sentence have the same positions (the paper's ablation)."""
    word_positions: bool | None = None
    """Whether a position embedding is added to words when they are read and pointed at. Left open: not for a pretrained decoder;
    the paper has none."""
    distances: int = Field(default=0, ge=0)
    """Distances to the next word with an embedding of their own, longer ones sharing the last; 0: none (the paper)."""
    longest: int | None = Field(default=None, ge=1)
    """Most units of an entity; left open: half more than the longest of the training corpus."""
    most_units: int | None = Field(default=None, ge=1)
    """Most units of a window, for the size of the position table; left open: what the encoder can take."""
    parts: bool = True
    """Whether a classifier detects the words that entities begin with, or every word starts a sequence (the ablation)."""
    occurrences: bool = True
    """Whether a classifier says how many entities a word begins, or it is always one (the ablation)."""
    inverse: bool = False
    """Inverse generation training: every other step trains a second decoder that generates from the last word to the first.
    It is not saved."""

    PAPER: ClassVar[Mapping[str, Any]] = {
        "reads": "pieces", "constrained": False, "word_positions": False, "span_classifier": {"width": 0},
    }  # fmt: skip
    PAPER_OPTIONS: ClassVar[Mapping[str, Any]] = {"counting": "likeliest", "length_power": 1.0}

    @model_validator(mode="after")
    def _only_legal_symbols_are_contiguous(self) -> Self:
        if self.contiguous and not self.constrained:
            raise ValueError("contiguous: true needs constrained: true")
        return self

    def symbols(self, labels: int) -> int:
        """What sequences can consist of besides units: the labels, "no entity", "fragment", and an end symbol if there is one."""
        return labels + (2 if self.constrained else 3)

    def fitted(self, statistics: CorpusStatistics) -> Self:
        in_words, decoder = self.unit == "words", self.decoder_kind(statistics)
        reach = half_more(statistics.spans, statistics) * (1 if in_words else PIECES_OF_A_WORD)
        chosen = {
            "decoder": decoder,
            "reads": "pieces" if decoder == "pretrained" else "words",
            "word_positions": decoder != "pretrained",
            "longest": half_more(statistics.lengths if in_words else statistics.piece_lengths, statistics),
            "farthest": min(reach, statistics.most_words),
            "most_at_one_word": most_at_one_word(statistics),
            "contiguous": self.constrained and not statistics.discontinuous,
            "most_units": statistics.most_words,
        }
        return self.updated({key: value for key, value in chosen.items() if getattr(self, key) is None}, "head")

    def unreachable(self, entities: Sequence[WordEntity], pieces: Sequence[int]) -> list[str | None]:
        reasons = super().unreachable(entities, pieces)
        for place, entity in enumerate(entities):
            words, span = entity.word_indices, range(entity.first, entity.last + 1)
            size, reach = ((len(one) if self.unit == "words" else sum(pieces[word] for word in one)) for one in (words, span))
            if reasons[place] is None and self.longest and size > self.longest:
                reasons[place] = f"longer than head.longest, {self.longest} {self.unit}"
            elif reasons[place] is None and self.farthest and reach > self.farthest:
                reasons[place] = f"reaches over more than head.farthest, {self.farthest} {self.unit}"
        return self.too_many(reasons, entities)

    def thresholds(self) -> tuple[Threshold, ...]:
        grid = tuple(round(0.05 * i, 2) for i in range(1, 20))
        head = (Threshold("head", 0.05, 0.5, grid),) if self.parts else ()
        if not self.constrained and not self.span_classifier.width:
            return head  # the paper keeps the best of each head, whatever their probability
        return (*head, *self.least_scores(0.05, 0.3, grid))
