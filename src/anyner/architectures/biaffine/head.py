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

LARGEST = 2**27
"""Numbers that one tensor of prediction may hold."""


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
        self.buckets, self.longest = config.length_buckets, config.longest
        self.boundaries = nn.Linear(encoder.width, 2 * config.width)
        self.dropout = nn.Dropout(config.dropout)
        self.bilinear = nn.Parameter(torch.empty(len(labels), config.width, config.width))
        self.linear = nn.Linear(2 * config.width, len(labels))
        self.length = nn.Embedding(config.length_buckets, len(labels))
        nn.init.normal_(self.bilinear, std=1 / config.width)
        nn.init.zeros_(self.length.weight)
        nn.init.constant_(self.linear.bias, math.log(config.prior / (1 - config.prior)))

    def scores(self, states: States) -> Tensor:
        """Logits of every (label, first word, last word): (B, C, M, M), float32; those with last < first mean nothing."""
        return self._logits(self._boundaries(states), slice(None))

    def _boundaries(self, states: States) -> Tensor:
        """Every word as the start and as the end of a span: (B, M, 2k)."""
        both: Tensor = self.dropout(functional.gelu(self.boundaries(states.words)))
        return both

    def _logits(self, boundaries: Tensor, part: slice) -> Tensor:
        """The logits of some of the labels, c in number: (B, c, M, M)."""
        start, end = boundaries.chunk(2, dim=-1)  # (B, M, k) each
        form = start[:, None] @ self.bilinear[part].to(start.dtype)  # (B, c, M, k)
        logits: Tensor = (form @ end[:, None].transpose(-1, -2)).float()  # (B, c, M, M)
        from_start, from_end = self.linear.weight[part].chunk(2, dim=1)  # (c, k) each
        logits += functional.linear(start, from_start, self.linear.bias[part]).transpose(1, 2)[..., None]  # (B, c, M, 1)
        logits += functional.linear(end, from_end).transpose(1, 2)[:, :, None]  # (B, c, 1, M)
        word = torch.arange(logits.shape[-1], device=logits.device)
        distance = (word[None] - word[:, None]).clamp(0, self.buckets - 1)  # (M, M)
        by_length: Tensor = self.length(distance)[..., part].permute(2, 0, 1)  # (c, M, M)
        return logits + by_length

    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        logits = self.scores(states)
        _, labels, words, _ = logits.shape
        place = ((gold.sentence * labels + gold.label) * words + gold.first) * words + gold.last  # (E,)
        # no boolean indexing: it would make the host wait for the device
        target = torch.zeros_like(logits).flatten().scatter_reduce(0, place, gold.contiguous.float(), "amax").view_as(logits)
        counted = self._spans(states.word_mask)[:, None] & gold.annotated[:, :, None, None]  # (B, C, M, M)
        loss = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return {"span": LossPart(torch.where(counted, loss, 0.0).sum(), states.word_mask.sum())}

    def propose(self, states: States, decoding: Decoding, draw: Draw) -> SpanProposals:
        boundaries, spans = self._boundaries(states), self._spans(states.word_mask)[:, None]
        places, scores = [], []
        for first in range(0, len(self.labels), step := self._labels_at_once(boundaries)):
            probability = self._logits(boundaries, slice(first, first + step)).sigmoid()  # (B, c, M, M)
            place = ((probability >= decoding.thresholds["score"]) & spans).nonzero()  # (P, 4)
            scores.append(probability[place.unbind(1)])
            places.append(place + place.new_tensor([0, first, 0, 0]) if first else place)
        return SpanProposals(torch.cat(places), torch.cat(scores))

    def _labels_at_once(self, boundaries: Tensor) -> int:
        """As many as fit into bounded memory: all of them, unless there are hundreds or windows are long."""
        sentences, words, width = boundaries.shape
        return max(1, LARGEST // (sentences * words * max(words, width // 2)))

    def _spans(self, word_mask: Tensor) -> Tensor:
        """True where (first, last) is a span of real words and not too long: (B, M, M)."""
        spans = (word_mask[:, :, None] & word_mask[:, None]).triu()
        return spans.tril(self.longest - 1) if self.longest else spans
