"""Settings of non-autoregressive generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from anyner.architectures.generation import GenerationConfig, half_more, most_at_one_word
from anyner.architectures.settings import CorpusStatistics, Options, SpanClassifierOptions, Threshold
from anyner.errors import AnynerError
from anyner.text.align import WordEntity

COVERED = 0.995
LONGEST_FITTED = 32
"""Limits where the corpus decides: share of the entities that must fit into a block, and units of the longest."""


class NagOptions(SpanClassifierOptions):
    decoding: Literal["exact", "greedy"] = "exact"
    """exact: the most probable sequence of words that the sentence has. greedy: the best symbol at each position, looked up in
    the sentence (the paper); only for a model trained with `head.loss: positions`."""
    more: Annotated[float, Field(ge=0.0, le=1.0)] | Literal["argmax"] = 0.25
    """How many entities a start word has: one more as long as its probability, given those before it, reaches this; argmax: the
    most probable number (the paper)."""


class Config(GenerationConfig):
    PAPER: ClassVar[dict[str, Any]] = {
        "loss": "positions",
        "space": "vocab",
        "block_inputs": "positions",
        "start_classifier": "linear",
        "causal": True,
        "negatives": "all",
        "one_more_block": False,
        "tail": False,
        "longest": 8,
        "most_at_one_word": 5,
        "span_classifier": {"width": 0},
    }
    PAPER_OPTIONS: ClassVar[dict[str, Any]] = {"decoding": "greedy", "more": "argmax", "score_share": 0.0}

    architecture: Literal["nag_ner"] = "nag_ner"
    causal: bool = False
    """Whether a position attends to the earlier ones of its block only, as in the paper's backbone, or to all of them."""
    space: Literal["pointer", "sentence", "vocab"] | None = None
    """What a position generates: a pointer to a word of the sentence, a piece of the sentence, or a piece of the whole vocabulary
    (the paper). Left open: pointer; sentence for a pretrained decoder."""
    loss: Literal["sequences", "positions"] = "sequences"
    """sequences: globally normalised over all sequences of words that the sentence has. positions: cross-entropy at each position
    (the paper)."""
    block_inputs: Literal["words", "positions", "none"] = "words"
    """What tells blocks apart, besides the mask. positions: the position of their word and their rank (the paper). words: also
    the vectors of their word and the words behind it. none: nothing (the paper's ablation)."""
    start_classifier: Literal["mlp", "linear", "none"] = "mlp"
    """Predicts how many entities start at each word: with a hidden layer, without (the paper), or not at all: then every word is
    tried at every rank (the paper's ablation)."""
    longest: int | None = Field(default=None, ge=1)
    """Units (words or pieces) that fit into a block, the paper's l_max; left open: enough for 99.5 % of the training entities."""
    tail: bool | None = None
    """Whether a pointer finds the last word of entities that do not fit; left open: if the training corpus has any."""
    most_pieces: int | None = Field(default=None, ge=1)
    """Pieces that a window can hold; left open: what the encoder can take."""
    negatives: Annotated[int, Field(ge=0)] | Literal["all"] = 1
    """Words without entities that are trained on, for each entity of a sentence; one more in every sentence; the hardest first.
    all: every word (the paper)."""
    one_more_block: bool = True
    """Whether words with entities also learn that there is no further one, from a block of the next rank; the paper has none."""

    def fitted(self, statistics: CorpusStatistics) -> Self:
        decoder = self.decoder_kind(statistics)
        space = self.space or ("sentence" if decoder == "pretrained" else "pointer")
        lengths = statistics.lengths if space == "pointer" else statistics.piece_lengths
        enough = int(np.quantile(lengths or (1,), COVERED, method="higher"))
        longest = self.longest or min(enough, LONGEST_FITTED, statistics.most_words)
        chosen = {
            "decoder": decoder,
            "space": space,
            "longest": longest,
            "tail": max(lengths, default=1) > longest,
            "farthest": half_more(statistics.spans, statistics),
            "most_at_one_word": most_at_one_word(statistics),
            "most_pieces": statistics.most_words,
            "contiguous": not statistics.discontinuous,
        }
        return self.updated({key: value for key, value in chosen.items() if getattr(self, key) is None}, "head")

    def check_options(self, options: Options) -> None:
        if self.loss == "sequences" and isinstance(options, NagOptions) and options.decoding == "greedy":
            raise AnynerError("options.decoding: greedy needs a model trained with head.loss: positions; this one has sequences")

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
                reasons[place] = f"spans more than head.farthest, {self.farthest} words"
        return self.too_many(reasons, entities)

    def thresholds(self) -> tuple[Threshold, ...]:
        grid = tuple(round(0.05 * i, 2) for i in range(1, 20))
        scores = self.least_scores(0.05, 0.3, grid)
        return scores if self.start_classifier == "none" else (Threshold("start", 0.05, 0.5, grid), *scores)
