"""How well one word of a sentence follows another over a gap, whatever block writes them."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Links(nn.Module):
    """A position of a block knows nothing of what stands at the one before it, so rows of words that jump to the wrong place
    are as likely as those that jump to the right one. This is what they differ in: a bilinear form of both words, and how far
    apart they are."""

    def __init__(self, width: int, hidden: int, farthest: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.before, self.behind = nn.Linear(width, hidden), nn.Linear(width, hidden)
        self.distance = nn.Parameter(torch.zeros(farthest))

    def forward(self, words: Tensor) -> Tensor:
        """Log scores, from each word (B, M, w) to each: (B, M, M), float32."""
        words = self.dropout(words)
        before, behind = self.before(words), self.behind(words)  # (B, M, k) each
        scores: Tensor = (before @ behind.transpose(1, 2)).float() * before.shape[-1] ** -0.5
        word = torch.arange(words.shape[1], device=words.device)
        return scores + self.distance[(word - word[:, None]).clamp(0, len(self.distance) - 1)]


def over_gaps(links: Tensor, nothing: float) -> Tensor:
    """Links (Q, R, R) with `nothing` where no gap lies between two words: to earlier ones, to itself and to the next."""
    words = links.shape[1]
    return links.masked_fill(torch.ones(words, words, dtype=torch.bool, device=links.device).tril(1), nothing)
