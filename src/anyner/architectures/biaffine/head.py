"""Scores every span of a sentence at once for every label, by two projections and one biaffine form per label."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures import base
from anyner.architectures.base import Losses, LossPart, Step
from anyner.architectures.biaffine.config import Config
from anyner.architectures.decode import decode_spans
from anyner.architectures.draw import Draw
from anyner.architectures.settings import Decoding, HeadConfig, least_span_score
from anyner.architectures.spans import SpanProposals, fragment_pairs_of, in_spans, pair_steps
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.gold import Gold
from anyner.layers.span_classifier import SpanScores, likely_spans, real_spans

PRIOR = 0.01
"""Initial probability of every span: almost none is an entity, and learning that first would waste steps."""


class Head(base.Head):
    Config = Config
    decode = staticmethod(decode_spans)

    def __init__(self, config: HeadConfig, labels: Sequence[str], encoder: Encoder) -> None:
        super().__init__(config, labels, encoder)
        assert isinstance(config, Config)
        self.longest = config.longest
        self.span_scores = SpanScores(encoder.width, config.width, config.kinds(len(labels)), config.dropout)
        self.fragment_pairs = fragment_pairs_of(config, encoder.width, len(labels))
        nn.init.constant_(self.span_scores.linear.bias, math.log(PRIOR / (1 - PRIOR)))

    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        gold, pairs = in_spans(self.fragment_pairs, states, gold)
        logits = self.span_scores(states.words)  # (B, C, M, M)
        target = gold.span_targets(states.words.shape[1])  # (B, C, M, M)
        counted = self._spans(states.word_mask)[:, None]  # (B, 1, M, M)
        if not gold.all_annotated:
            counted = counted & gold.annotated[:, :, None, None]  # (B, C, M, M)
        loss = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return {"span": LossPart((loss * counted).sum(), states.word_mask.sum()), **pairs}

    def propose(self, states: States, decoding: Decoding, draw: Draw) -> SpanProposals:
        tables = self.span_scores.tables(self.span_scores.as_boundaries(states.words))
        probabilities = ((start, logits.sigmoid()) for start, logits in tables)
        found = likely_spans(probabilities, self._spans(states.word_mask), least_span_score(decoding.thresholds))
        return SpanProposals.of(self.fragment_pairs, states, *found)

    def read(self, states: States) -> Mapping[str, Tensor]:
        words = {"words": states.words} if self.fragment_pairs is not None else {}
        return {"probability": self.span_scores(states.words).sigmoid(), **words}

    def steps(self) -> Mapping[str, Step]:
        return pair_steps(self.fragment_pairs)

    def _spans(self, word_mask: Tensor) -> Tensor:
        """True where (first, last) is a span of real words and not too long: (B, M, M)."""
        spans = real_spans(word_mask)
        return spans.tril(self.longest - 1) if self.longest else spans
