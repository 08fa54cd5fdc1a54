"""Settings of non-autoregressive generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from pydantic import Field

from anyner.architectures.generation import GenerationConfig, GenerationOptions, half_more, most_at_one_word
from anyner.architectures.settings import CorpusFacts, Threshold
from anyner.text.align import WordEntity

COVERED = 0.995
LONGEST_CHOSEN = 32
"""Limits where the corpus decides: share of the entities that must fit into a block, and units of the longest."""


class NagOptions(GenerationOptions):
    decoding: Literal["exact", "greedy"] = "exact"
    """Whether the best sequence of words that the sentence has is found, or each position's best is taken and looked up in
    the sentence (the paper)."""
    more: float = Field(default=0.25, ge=0.0, le=1.0)
    """How likely a further entity at a word must be, given those before it, to be asked for."""
    gap: float = Field(default=0.0, ge=0.0)
    """Taken off the log probability for every gap in an entity."""
    alternatives: int = Field(default=4, ge=1)
    """Best entities of a block that are looked at: where several blocks of one word may want the same, and where there is a check
    to choose among them, there beyond the best only ones without gaps unless the block is in doubt."""
    doubt: float = Field(default=0.7, ge=0.0, le=1.0)
    """A block whose best words are less likely than this, among all that it could write, is in doubt: with a check its best of
    any shape are looked at. Only where rows are learned (`writing`). 0: none is."""


class Config(GenerationConfig):
    architecture: Literal["nag_ner"] = "nag_ner"
    causal: bool = False
    """Whether a position sees the earlier ones of its block only, as in the paper's backbone, or all of them."""
    space: Literal["pointer", "sentence", "vocab"] | None = None
    """What is written: words of the sentence by their places, pieces among those of the sentence, or pieces of the whole
    vocabulary (the paper). Left open: pointer, for a pretrained decoder sentence."""
    writing: Literal["rows", "positions"] = "rows"
    """What is learned: how likely a whole row of words is among all that the sentence has, with gaps at a price that is learned,
    too; or what stands at each position, by itself (the paper)."""
    links: int = Field(default=0, ge=0)
    """Width of a bilinear form that says how well a word follows another over a gap; 0: a gap costs the same wherever it leads.
    Only where rows of words are learned."""
    mlm_head: bool = False
    """Whether writing in pieces starts from the checkpoint's head for masked words, as BERT kinds have it."""
    longest: int | None = Field(default=None, ge=1)
    """Units (words or pieces) that fit into a block, the paper's l_max; left open: enough for 99.5 % of the training entities."""
    tail: bool | None = None
    """Whether a pointer finds the last word of entities that do not fit; left open: if the training corpus has any."""
    most_pieces: int | None = Field(default=None, ge=1)
    """Pieces that a window can hold; left open: what the encoder can take."""
    starts: bool = True
    """Whether it is predicted at which words entities begin and how many, or every word is tried (the paper's ablation)."""
    start_positions: bool = True
    """Whether a block knows where its word stands and which of its entities it is to write; without neither (the ablation)."""
    head_word: bool = True
    """Whether a block also knows the vector of its word."""
    copied: bool = True
    """Whether a position begins as the word that stands there if the entity has no gap, or as a mask alone (the paper). Only
    where words are written."""
    negatives: int = Field(default=1, ge=0)
    """Blocks of words that begin nothing for each entity of a sentence: those that look most as if they did."""
    copy_epochs: int = Field(default=0, ge=0)
    """First epochs in which the writer only learns to copy stretches of the sentence, without looking at entities."""
    spare_negatives: int = Field(default=1, ge=0)
    """Such blocks beyond these, so that sentences without entities teach, too."""

    def fitted(self, facts: CorpusFacts) -> Self:
        decoder = self.decoder_kind(facts)
        space = self.space or ("sentence" if decoder == "pretrained" else "pointer")
        lengths = facts.lengths if space == "pointer" else facts.piece_lengths
        enough = int(np.quantile(lengths or (1,), COVERED, method="higher"))
        longest = self.longest or min(enough, LONGEST_CHOSEN, facts.most_words)
        chosen = {
            "decoder": decoder,
            "space": space,
            "longest": longest,
            "tail": max(lengths, default=1) > longest,
            "farthest": half_more(facts.spans, facts),
            "most_at_one_word": most_at_one_word(facts),
            "most_pieces": facts.most_words,
            "contiguous": not facts.discontinuous,
        }
        return self.updated({key: value for key, value in chosen.items() if getattr(self, key) is None}, "head")

    def unreachable(self, entities: Sequence[WordEntity], pieces: Sequence[int]) -> list[str | None]:
        reasons = super().unreachable(entities, pieces)
        unit = "words" if self.space == "pointer" else "pieces"
        for place, entity in enumerate(entities):
            words = entity.word_indices
            size = len(words) if unit == "words" else sum(pieces[word] for word in words)
            by_its_last_word = self.tail and len(entity.fragments) == 1
            if reasons[place] is None and self.longest and size > self.longest and not by_its_last_word:
                reasons[place] = f"does not fit into head.longest, {self.longest} {unit}"
            elif reasons[place] is None and self.farthest and entity.last - entity.first >= self.farthest:
                reasons[place] = f"reaches over more than head.farthest, {self.farthest} words"
        return self.too_many(reasons, entities)

    def thresholds(self) -> tuple[Threshold, ...]:
        grid = tuple(round(0.05 * i, 2) for i in range(1, 20))
        scores = self.least_scores(0.05, 0.3, grid)
        return (Threshold("start", 0.05, 0.5, grid), *scores) if self.starts else scores
