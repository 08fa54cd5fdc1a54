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
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.gold import Gold, Opinions
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
        target = _table(logits, gold, gold.contiguous.float())
        if gold.opinions is not None:
            likely = _table(logits, gold.opinions, gold.opinions.contiguous * gold.opinions.likely)
            target = target.lerp(likely, gold.opinions.weight[:, None, None, None].to(target.dtype))
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


def _table(logits: Tensor, entities: Gold | Opinions, values: Tensor) -> Tensor:
    """The values at the labels, first and last words of entities, 0 elsewhere: (B, C, M, M) like the logits."""
    _, labels, words, _ = logits.shape
    place = ((entities.sentence * labels + entities.label) * words + entities.first) * words + entities.last  # (E,)
    # no boolean indexing: it would make the host wait for the device
    return torch.zeros_like(logits).flatten().scatter_reduce(0, place, values.to(logits.dtype), "amax").view_as(logits)
