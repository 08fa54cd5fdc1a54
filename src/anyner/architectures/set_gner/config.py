"""Settings of entity set generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field

from anyner.architectures.generation import GenerationConfig, GenerationOptions, half_more, most_at_one_word
from anyner.architectures.settings import CorpusFacts, Threshold
from anyner.text.align import WordEntity

PIECES_OF_A_WORD = 4
"""How many pieces of a word entities in pieces have room for where they reach over others."""


class SetOptions(GenerationOptions):
    beam: int = Field(default=4, ge=1)
    """Unfinished entities that are followed at each head word, the paper's beta; also the most that one word can begin."""
    counting: Literal["asked", "expected", "likeliest"] = "asked"
    """How many entities a word has: as many as are likely enough each, given those before it (`more`); its score decides, each
    entity's probability times how many are expected there; or the likeliest number of them are taken (the paper)."""
    more: float = Field(default=0.25, ge=0.0, le=1.0)
    """How likely a further entity at a word must be, given those before it."""
    length_power: float = Field(default=0.0, ge=0.0)
    """Entities are ranked by their log probability over this power of their length: 0 by probability, 1 as in the paper."""
    null_counts: bool = False
    """Whether "no entity" and "fragment" take places among the entities that a word may have, as in the authors' code."""


class Config(GenerationConfig):
    architecture: Literal["set_gner"] = "set_gner"
    reads: Literal["pieces", "words"] | None = None
    """What the decoder looks at: the encoder's pieces (the paper), or words. Left open: pieces for a pretrained decoder."""
    unit: Literal["words", "pieces"] = "words"
    """What entities are spelt in: words, or the encoder's pieces (the paper's ablation)."""
    token_embedding: bool = True
    """Whether a word is the mean of its vector in the sentence and the encoder's embedding of its pieces, or the former alone."""
    positions: Literal["adaptive", "factorised", "vanilla"] = "adaptive"
    """What tells the rows of a sentence apart: head word and step in one number, in two, or the step alone (the ablation)."""
    interval: int = Field(default=4, ge=1)
    """Positions between two head words, the paper's tau; less where the position table ends."""
    word_positions: bool | None = None
    """Whether words know where they are when they are read and pointed at, or only rows do (the paper). Left open: not for a
    pretrained decoder, which knows its words without."""
    distances: int = Field(default=0, ge=0)
    """Distances that a row tells apart when it points at its next word, all farther ones being one; 0: none (the paper)."""
    longest: int | None = Field(default=None, ge=1)
    """Most units of an entity; left open: half more than the longest of the training corpus."""
    most_units: int | None = Field(default=None, ge=1)
    """Most units that a window can hold: what the position table must reach; left open: what the encoder can take."""
    parts: bool = True
    """Whether a classifier chooses the words that entities begin with, or all words do (the ablation)."""
    occurrences: bool = True
    """Whether it is predicted how many entities a word begins, or one is taken (the ablation)."""
    detector_width: int | None = Field(default=None, ge=1)
    """Width of the hidden layers of both classifiers; left open: that of the word vectors."""
    detector_dropout: float = Field(default=0.2, ge=0.0, lt=1.0)
    inverse: bool = False
    """Whether training alternates with generation from the last word to the first, by a second decoder that is not saved."""
    weighting: Literal["paper", "code"] = "paper"
    """How symbols and losses are weighted: all alike, or as in the authors' code for discontinuous corpora."""
    negatives: float = Field(default=1.0, gt=0.0, le=1.0)
    """Share of the words outside entities that learn to answer "no entity" in an epoch, drawn anew in each."""
    label_prompt: bool = False
    """Whether the names of the labels are appended to what the encoder reads."""

    def fitted(self, facts: CorpusFacts) -> Self:
        in_words = self.unit == "words"
        decoder = self.decoder_kind(facts)
        chosen = {
            "decoder": decoder,
            "reads": "pieces" if decoder == "pretrained" else "words",
            "word_positions": decoder != "pretrained",
            "longest": half_more(facts.lengths if in_words else facts.piece_lengths, facts),
            "farthest": min(half_more(facts.spans, facts) * (1 if in_words else PIECES_OF_A_WORD), facts.most_words),
            "most_at_one_word": most_at_one_word(facts),
            "contiguous": not facts.discontinuous,
            "most_units": facts.most_words,
        }
        return self.updated({key: value for key, value in chosen.items() if getattr(self, key) is None}, "head")

    def unreachable(self, entities: Sequence[WordEntity], pieces: Sequence[int]) -> list[str | None]:
        reasons = super().unreachable(entities, pieces)
        for place, entity in enumerate(entities):
            words = entity.word_indices
            size = len(words) if self.unit == "words" else sum(pieces[word] for word in words)
            reach = entity.last - entity.first + 1 if self.unit == "words" else sum(pieces[entity.first : entity.last + 1])
            if reasons[place] is None and self.longest and size > self.longest:
                reasons[place] = f"longer than head.longest, {self.longest} {self.unit}"
            elif reasons[place] is None and self.farthest and reach > self.farthest:
                reasons[place] = f"reaches over more than head.farthest, {self.farthest} {self.unit}"
        return self.too_many(reasons, entities)

    def prompt(self, labels: Sequence[str]) -> tuple[str, ...]:
        return tuple(labels) if self.label_prompt else ()

    def thresholds(self) -> tuple[Threshold, ...]:
        grid = tuple(round(0.05 * i, 2) for i in range(1, 20))
        scores = self.least_scores(0.05, 0.3, grid)
        return (Threshold("head", 0.05, 0.5, grid), *scores) if self.parts else scores
