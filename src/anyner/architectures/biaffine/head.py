"""Every span of a sentence scored at once for every label, by two projections and one bilinear form a label."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures import base
from anyner.architectures.base import Losses, LossPart
from anyner.architectures.biaffine.config import Config
from anyner.architectures.decode import decode_spans
from anyner.architectures.draw import Draw
from anyner.architectures.settings import Decoding, HeadConfig
from anyner.architectures.spans import SpanProposals
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.gold import Gold
from anyner.layers.span_classifier import SpanScores, real_spans


class Head(base.Head):
    Config = Config
    decode = staticmethod(decode_spans)

    def __init__(self, config: HeadConfig, labels: Sequence[str], encoder: Encoder) -> None:
        super().__init__(config, labels, encoder)
        assert isinstance(config, Config)
        self.longest = config.longest
        width, lengths = config.width, config.length_buckets
        self.span_scores = SpanScores(encoder.width, width, len(labels), dropout=config.dropout, lengths=lengths)
        nn.init.constant_(self.span_scores.linear.bias, math.log(config.prior / (1 - config.prior)))

    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        logits = self.span_scores(states.words)  # (B, C, M, M)
        target = gold.span_targets(states.words.shape[1])  # (B, C, M, M)
        counted = self._spans(states.word_mask)[:, None] & gold.annotated[:, :, None, None]  # (B, C, M, M)
        loss = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return {"span": LossPart(torch.where(counted, loss, 0.0).sum(), states.word_mask.sum())}

    def propose(self, states: States, decoding: Decoding, draw: Draw) -> SpanProposals:
        boundaries, spans = self.span_scores.as_boundaries(states.words), self._spans(states.word_mask)[:, None]
        places, scores = [], []
        for part, logits in self.span_scores.in_parts(boundaries):
            probability = logits.sigmoid()  # (B, c, M, M)
            place = ((probability >= decoding.thresholds["score"]) & spans).nonzero()  # (P, 4)
            scores.append(probability[place.unbind(1)])
            places.append(place + place.new_tensor([0, part.start, 0, 0]) if part.start else place)
        return SpanProposals(torch.cat(places), torch.cat(scores))

    def _spans(self, word_mask: Tensor) -> Tensor:
        """True where (first, last) is a span of real words and not too long: (B, M, M)."""
        spans = real_spans(word_mask)
        return spans.tril(self.longest - 1) if self.longest else spans
