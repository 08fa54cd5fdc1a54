"""A second opinion on the inside of entities with gaps: how likely their first and last fragments are fragments."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.encoding.gold import Gold
from anyner.layers.boundary_pairs import BoundaryPairs
from anyner.layers.outline import Outlines

_RARE = 6.0
"""Logit of no fragment at first: hardly any span is one."""


class FragmentCheck(nn.Module):
    """Each span is judged alone: as a first fragment, and as a last one."""

    def __init__(self, word_width: int, width: int, dropout: float) -> None:
        super().__init__()
        self.pairs = BoundaryPairs(word_width, width, 2, dropout=dropout)
        nn.init.constant_(self.pairs.linear.bias, -_RARE)

    def loss(self, words: Tensor, word_mask: Tensor, gold: Gold) -> Tensor:
        """Binary cross-entropy over all spans: is it a first, is it a last fragment?"""
        logits = self.pairs(words)  # (B, 2, M, M)
        size = words.shape[1]
        sides = ((gold.first, gold.first_end), (gold.last_start, gold.last))
        place = torch.cat(
            [((gold.sentence * 2 + side) * size + start) * size + end for side, (start, end) in enumerate(sides)]
        )  # (2 E,)
        target = torch.zeros_like(logits).flatten()
        target = target.scatter_reduce(0, place, (~gold.contiguous).to(logits.dtype).repeat(2), "amax").view_as(logits)
        loss = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
        spans = (word_mask[:, :, None] & word_mask[:, None]).triu() & gold.annotated.all(1)[:, None, None]
        return torch.where(spans[:, None], loss, 0.0).sum()

    def forward(self, words: Tensor, entities: Outlines) -> Tensor:
        """The geometric mean of both fragments' probabilities: (N,)."""
        logits = self.pairs(words)  # (B, 2, M, M)
        first, last = (
            logits[spans.sentence, side, spans.first, spans.last] for side, spans in enumerate(entities.fragments)
        )  # (N,) each
        return ((functional.logsigmoid(first) + functional.logsigmoid(last)) / 2).exp()
