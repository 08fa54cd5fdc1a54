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
"""When the corpus decides: share of entities that must fit into a block, and upper limit of `longest`."""

END, MORE, FIRST_UNIT = 0, 1, 2
"""Symbols: the end; more units than fit into the block; from `FIRST_UNIT` on, the units (words or pieces) of the sentence."""
CANDIDATES = 4
"""Sequences proposed per block where the best may not be the one taken: the span classifier chooses, or another block of the
word takes it first."""
RESCORED_LABELS = 2
"""Labels per sequence: with one, rescoring would make all blocks of a word agree on it."""
FINITE_NONE = -1e4
"""Log score of the impossible in sums that need a gradient: sums of -inf alone have none."""
IMPOSSIBLE = -5e3
"""Log probabilities below this count as impossible."""


class NagOptions(GenerationOptions):
    decoding: Literal["exact", "greedy"] = "exact"
    """exact: the most probable word sequence of the sentence. greedy: the best symbol at each position, looked up in the sentence
    (the paper); only for models trained with `head.loss: positions`."""


class Config(GenerationConfig):
    PAPER: ClassVar[dict[str, Any]] = {
        "loss": "positions", "space": "vocab", "block_inputs": "positions", "start_classifier": "linear",
        "negatives": "all", "span_classifier": {"width": 0},
    }  # fmt: skip
    PAPER_OPTIONS: ClassVar[dict[str, Any]] = {"decoding": "greedy", "more": "argmax", "score_share": 0.0}
    FARTHEST_IN_WORDS: ClassVar[bool] = True

    architecture: Literal["nag_ner"] = "nag_ner"
    space: Literal["pointer", "sentence", "vocab"] | None = None
    """Output space of a position: pointers to words of the sentence, pieces of the sentence, or pieces of the whole vocabulary
    (the paper). Unset: pointer, or sentence for a pretrained decoder."""
    loss: Literal["sequences", "positions"] = "sequences"
    """sequences: globally normalised over all word sequences of the sentence. positions: cross-entropy at each position, with
    causal self-attention in a block (the paper)."""
    block_inputs: Literal["words", "positions", "none"] = "words"
    """Decoder inputs that distinguish blocks. positions: embeddings of the word's position and of the rank (the paper). words:
    also the vectors of the block's word and of the words after it. none: no such inputs (the paper's ablation)."""
    start_classifier: Literal["mlp", "linear", "none"] = "mlp"
    """Predicts how many entities start at each word. mlp: with a hidden layer. linear: without (the paper). none: no classifier,
    every word is decoded at every rank (the paper's ablation)."""
    negatives: Annotated[int, Field(ge=0)] | Literal["all"] = 1
    """Words without entities to train on per entity of a sentence, plus one per sentence, hardest first. Start words also get a
    negative block at the next rank. all: every word without entities, and no blocks at the next rank (the paper)."""
    tail: bool | None = recorded()
    """Whether a pointer predicts the last word of entities that do not fit: if the training corpus has any and `loss` is
    sequences; the paper has none."""

    @property
    def unit_kind(self) -> Literal["words", "pieces"]:
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
