"""Every span of a sentence scored at once for every label, by two projections and one bilinear form a label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures import base
from anyner.architectures.base import Losses, LossPart
from anyner.architectures.biaffine.config import Config
from anyner.architectures.biaffine.decode import decode
from anyner.architectures.draw import Draw
from anyner.architectures.settings import Decoding, HeadConfig
from anyner.encoding.batch import Gold
from anyner.encoding.encoder import Encoder, States
from anyner.layers.boundary_pairs import BoundaryPairs


@dataclass(frozen=True, slots=True)
class SpanProposals(base.Proposals):
    """P spans that may be entities."""

    place: Tensor  # (P, 4) sentence, label, first word, last word (inclusive)
    score: Tensor  # (P,)


class Head(base.Head):
    Config = Config
    decode = staticmethod(decode)

    def __init__(self, config: HeadConfig, labels: Sequence[str], encoder: Encoder) -> None:
        super().__init__(config, labels, encoder)
        assert isinstance(config, Config)
        self.longest = config.longest
        self.pairs = BoundaryPairs(
            encoder.width, config.width, len(labels), dropout=config.dropout, lengths=config.length_buckets
        )
        nn.init.constant_(self.pairs.linear.bias, math.log(config.prior / (1 - config.prior)))

    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        logits = self.pairs(states.words)
        _, labels, words, _ = logits.shape
        place = ((gold.sentence * labels + gold.label) * words + gold.first) * words + gold.last  # (E,)
        # no boolean indexing: it would make the host wait for the device
        target = torch.zeros_like(logits).flatten().scatter_reduce(0, place, gold.contiguous.float(), "amax").view_as(logits)
        counted = self._spans(states.word_mask)[:, None] & gold.annotated[:, :, None, None]  # (B, C, M, M)
        loss = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return {"span": LossPart(torch.where(counted, loss, 0.0).sum(), states.word_mask.sum())}

    def propose(self, states: States, decoding: Decoding, draw: Draw) -> SpanProposals:
        boundaries, spans = self.pairs.as_boundaries(states.words), self._spans(states.word_mask)[:, None]
        places, scores = [], []
        for part in self.pairs.parts(boundaries):
            probability = self.pairs.of_kinds(boundaries, part).sigmoid()  # (B, c, M, M)
            place = ((probability >= decoding.thresholds["score"]) & spans).nonzero()  # (P, 4)
            scores.append(probability[place.unbind(1)])
            places.append(place + place.new_tensor([0, part.start, 0, 0]) if part.start else place)
        return SpanProposals(torch.cat(places), torch.cat(scores))

    def _spans(self, word_mask: Tensor) -> Tensor:
        """True where (first, last) is a span of real words and not too long: (B, M, M)."""
        spans = (word_mask[:, :, None] & word_mask[:, None]).triu()
        return spans.tril(self.longest - 1) if self.longest else spans
