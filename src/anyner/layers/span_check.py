"""A second opinion on entities that were written word by word: how likely their first and last word bound one of that label."""

from __future__ import annotations

from torch import Tensor, nn

from anyner.encoding.gold import Gold
from anyner.layers.boundary_pairs import BoundaryPairs
from anyner.layers.everywhere import expecting_nothing, loss_everywhere
from anyner.layers.spanpool import Spans


class SpanCheck(nn.Module):
    def __init__(self, word_width: int, width: int, labels: int, *, contiguous: bool, dropout: float) -> None:
        """Entities with gaps are kinds of their own, unless all are `contiguous`."""
        super().__init__()
        self.labels, self.contiguous = labels, contiguous
        self.pairs = BoundaryPairs(word_width, width, 1 + labels * (1 if contiguous else 2), dropout=dropout)
        expecting_nothing(self.pairs)

    def loss(self, words: Tensor, word_mask: Tensor, gold: Gold) -> Tensor:
        """Summed over all spans of the words (B, M, d)."""
        return loss_everywhere(self.pairs(words), word_mask, gold)

    def forward(self, words: Tensor, spans: Spans, label: Tensor, gaps: Tensor) -> Tensor:
        """Probabilities of N entities from their first to their last words, with labels and with or without `gaps`: (N,)."""
        likely = self.pairs.at(self.pairs.as_boundaries(words), spans).softmax(1)  # (N, kinds)
        kind = 1 + label if self.contiguous else 1 + label + self.labels * gaps.long()
        return likely.gather(1, kind[:, None])[:, 0]


def agreed(score: Tensor, checked: Tensor, share: float) -> Tensor:
    """Both opinions as one: the weighted geometric mean, of which the check has a share."""
    return score.clamp(min=0.0) ** (1 - share) * checked**share


def least_before(least: float, share: float) -> float:
    """What a score must be at least for both to reach `least`, the check being at most 1."""
    return float(least ** (1 / (1 - share)))
