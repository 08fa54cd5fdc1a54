"""Settings of non-autoregressive generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from anyner.architectures.generation import GenerationConfig, GenerationOptions
from anyner.architectures.settings import CorpusStatistics, Options, Threshold
from anyner.errors import AnynerError
from anyner.settings import recorded
from anyner.text.align import WordEntity

COVERED = 0.995
LONGEST_FITTED = 32
"""Limits where the corpus decides: share of the entities that must fit into a block, and units of the longest."""

CANDIDATES = 4
"""Best sequences of a block that are proposed where one of them is yet to be chosen: by the span classifier, or because other
blocks of the word may have taken the best."""
RESCORED_LABELS = 2
"""Labels of each: with one, rescoring would have all blocks of a word agree on it."""
FINITE_NONE = -1e4
"""The log score of what is not there, in a sum that has a gradient: sums of -inf alone have none."""
IMPOSSIBLE = -5e3
"""Log probabilities below this belong to what cannot be generated."""


class NagOptions(GenerationOptions):
    decoding: Literal["exact", "greedy"] = "exact"
    """exact: the most probable sequence of words that the sentence has. greedy: the best symbol at each position, looked up in
    the sentence (the paper); only for a model trained with `head.loss: positions`."""


class Config(GenerationConfig):
    PAPER: ClassVar[dict[str, Any]] = {
        "loss": "positions", "space": "vocab", "block_inputs": "positions", "start_classifier": "linear",
        "negatives": "all", "span_classifier": {"width": 0},
    }  # fmt: skip
    PAPER_OPTIONS: ClassVar[dict[str, Any]] = {"decoding": "greedy", "more": "argmax", "score_share": 0.0}
    FARTHEST_IN_WORDS: ClassVar[bool] = True

    architecture: Literal["nag_ner"] = "nag_ner"
    space: Literal["pointer", "sentence", "vocab"] | None = None
    """What a position generates: a pointer to a word of the sentence, a piece of the sentence, or a piece of the whole vocabulary
    (the paper). Left open: pointer; sentence for a pretrained decoder."""
    loss: Literal["sequences", "positions"] = "sequences"
    """sequences: globally normalised over all sequences of words that the sentence has. positions: cross-entropy at each
    position, which attends to the earlier ones of its block only (the paper)."""
    block_inputs: Literal["words", "positions", "none"] = "words"
    """What tells blocks apart, besides the mask. positions: the position of their word and their rank (the paper). words: also
    the vectors of their word and the words behind it. none: nothing (the paper's ablation)."""
    start_classifier: Literal["mlp", "linear", "none"] = "mlp"
    """Predicts how many entities start at each word: with a hidden layer, without (the paper), or not at all: then every word is
    tried at every rank (the paper's ablation)."""
    negatives: Annotated[int, Field(ge=0)] | Literal["all"] = 1
    """Words without entities that are trained on, for each entity of a sentence; one more in every sentence; the hardest first.
    Words with entities also learn that there is no further one, from a block of the next rank. all: every word without
    entities, and no such blocks (the paper)."""
    tail: bool | None = recorded()
    """Whether a pointer finds the last word of entities that do not fit: if the training corpus has any, and with `loss:
    sequences`; the paper has none."""

    @property
    def spelt_in(self) -> Literal["words", "pieces"]:
        return "words" if self.space == "pointer" else "pieces"

    def fitted(self, statistics: CorpusStatistics) -> Self:
        """`longest`, the paper's l_max, is the number of units that fit into a block: enough for 99.5 % of the entities."""
        decoder = self.decoder_kind(statistics)
        space = self.space or ("sentence" if decoder == "pretrained" else "pointer")
        lengths = statistics.lengths if space == "pointer" else statistics.piece_lengths
        enough = int(np.quantile(lengths or (1,), COVERED, method="higher"))
        longest = self.longest or min(enough, LONGEST_FITTED, statistics.most_words)
        tail = self.loss == "sequences" and max(lengths, default=1) > longest
        return self.fitted_with(statistics, {"decoder": decoder, "space": space, "longest": longest, "tail": tail})

    def check_options(self, options: Options) -> None:
        if self.loss == "sequences" and isinstance(options, NagOptions) and options.decoding == "greedy":
            raise AnynerError("options.decoding: greedy needs a model trained with head.loss: positions; this one has sequences")

    def _too_large(self, entity: WordEntity, sizes: Sequence[int]) -> str | None:
        reason = super()._too_large(entity, sizes)
        by_its_last_word = self.tail and len(entity.fragments) == 1 and entity.last - entity.first < (self.farthest or len(sizes))
        return None if by_its_last_word else reason

    def thresholds(self) -> tuple[Threshold, ...]:
        return self.score_thresholds(None if self.start_classifier == "none" else "start")
