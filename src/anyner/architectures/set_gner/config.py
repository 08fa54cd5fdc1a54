"""Settings of entity set generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field

from anyner.architectures.settings import CorpusFacts, HeadConfig, Options, Shape, Threshold
from anyner.text.align import WordEntity

MOST_AT_ONE_WORD = 8
"""Entities at one word that are told apart at most when the corpus decides."""


class SetOptions(Options):
    beam: int = Field(default=4, ge=1)
    """Unfinished entities that are followed at each head word, the paper's beta; also the most that one word can begin."""
    counting: Literal["expected", "likeliest"] = "likeliest"
    """How many entities a word has: its score decides, each entity's probability times how many are expected there, or the
    likeliest number of them are taken (the paper)."""
    length_power: float = Field(default=0.0, ge=0.0)
    """Entities are ranked by their log probability over this power of their length: 0 by probability, 1 as in the paper."""
    null_counts: bool = False
    """Whether "no entity" and "fragment" take places among the entities that a word may have, as in the authors' code."""


class Config(HeadConfig):
    architecture: Literal["set_gner"] = "set_gner"
    decoder: Literal["pretrained", "encoder", "new"] | None = None
    """Where the decoder starts from: the encoder's other half (BART and T5 kinds), the encoder's upper layers (BERT kinds), or
    nothing. Left open: pretrained where the encoder has another half, else new."""
    layers: int | None = Field(default=None, ge=1)
    """Layers of the decoder; left open: 2, of a pretrained one all."""
    width: int | None = Field(default=None, ge=8)
    """Width of a new decoder; left open: that of the word vectors."""
    heads: int | None = Field(default=None, ge=1)
    """Heads of a new decoder; left open: one for 64 of its width."""
    feed_forward: int | None = Field(default=None, ge=1)
    """Width inside a new decoder's layers; left open: twice its width."""
    dropout: float = Field(default=0.1, ge=0.0, lt=1.0)
    """Dropout in the decoder, and on what it is compared with when it points."""
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
    longest: int | None = Field(default=None, ge=1)
    """Most units of an entity; left open: half more than the longest of the training corpus."""
    farthest: int | None = Field(default=None, ge=1)
    """Most words from an entity's first to its last; left open: half more than in the training corpus."""
    most_at_one_word: int | None = Field(default=None, ge=1)
    """Most entities that one word begins, O_max; left open: as in the training corpus, at most 8."""
    contiguous: bool | None = None
    """Whether entities have no gaps: then the search is exact and takes one pass. Left open: as in the training corpus."""
    most_units: int | None = Field(default=None, ge=1)
    """Most units that a window can hold: what the position table must reach; left open: what the encoder can take."""
    parts: bool = True
    """Whether a classifier chooses the words that entities begin with, or all words do (the ablation)."""
    occurrences: bool = True
    """Whether it is predicted how many entities a word begins, or one is taken (the ablation)."""
    detector_width: int | None = Field(default=None, ge=1)
    """Width of the hidden layers of both classifiers; left open: that of the decoder."""
    detector_dropout: float = Field(default=0.2, ge=0.0, lt=1.0)
    inverse: bool = False
    """Whether training alternates with generation from the last word to the first, by a second decoder that is not saved."""
    weighting: Literal["paper", "code"] = "paper"
    """How symbols and losses are weighted: all alike, or as in the authors' code for discontinuous corpora."""
    negatives: float = Field(default=1.0, gt=0.0, le=1.0)
    """Share of the words outside entities that learn to answer "no entity" in an epoch, drawn anew in each."""
    label_prompt: bool = False
    """Whether the names of the labels are appended to what the encoder reads."""
    pretrained_rate: float = Field(default=0.05, gt=0.0, le=1.0)
    """Share of `training.head_lr` at which a decoder that was taken over learns."""

    def fitted(self, facts: CorpusFacts) -> Self:
        in_words = self.unit == "words"
        decoder = self.decoder or ("pretrained" if facts.encoder_decoder else "new")
        chosen = {
            "decoder": decoder,
            "reads": "pieces" if decoder == "pretrained" else "words",
            "word_positions": decoder != "pretrained",
            "longest": _half_more(max(facts.lengths if in_words else facts.piece_lengths, default=1)),
            "farthest": _half_more(max(facts.spans if in_words else facts.piece_lengths, default=1)),
            "most_at_one_word": min(max(facts.most_at_one_word, 1), MOST_AT_ONE_WORD),
            "contiguous": not facts.discontinuous,
            "most_units": facts.most_words,
        }
        return self.updated({key: value for key, value in chosen.items() if getattr(self, key) is None}, "head")

    def unreachable(self, entities: Sequence[WordEntity], pieces: Sequence[int]) -> list[str | None]:
        reasons = super().unreachable(entities, pieces)
        begun: dict[int, int] = {}
        for place, entity in enumerate(entities):
            words = entity.word_indices
            size = len(words) if self.unit == "words" else sum(pieces[word] for word in words)
            reach = entity.last - entity.first + 1 if self.unit == "words" else sum(pieces[entity.first : entity.last + 1])
            if reasons[place] is not None:
                continue
            if self.longest and size > self.longest:
                reasons[place] = f"longer than head.longest, {self.longest} {self.unit}"
            elif self.farthest and reach > self.farthest:
                reasons[place] = f"reaches over more than head.farthest, {self.farthest} {self.unit}"
            else:
                begun[entity.first] = begun.get(entity.first, 0) + 1
                if self.most_at_one_word and begun[entity.first] > self.most_at_one_word:
                    reasons[place] = f"more than head.most_at_one_word, {self.most_at_one_word}, begin at its first word"
        return reasons

    def prompt(self, labels: Sequence[str]) -> tuple[str, ...]:
        return tuple(labels) if self.label_prompt else ()

    def thresholds(self) -> tuple[Threshold, ...]:
        grid = tuple(round(0.05 * i, 2) for i in range(1, 20))
        score = Threshold("score", 0.05, 0.3, grid)
        return (Threshold("head", 0.05, 0.5, grid), score) if self.parts else (score,)

    def shapes(self) -> frozenset[Shape]:
        return frozenset({"flat", "nested", "crossing"} if self.contiguous else {"flat", "nested", "crossing", "discontinuous"})


def _half_more(size: int) -> int:
    return size + (size + 1) // 2
