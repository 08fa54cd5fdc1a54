"""How well every pair of words bounds an entity of each kind: a bilinear form of the two, and what the length says."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.layers.spanpool import Spans

LARGEST = 2**27
"""Numbers that one tensor may hold."""


LENGTHS = 64
"""Lengths that are told apart unless said otherwise."""


class BoundaryPairs(nn.Module):
    def __init__(self, word_width: int, width: int, kinds: int, *, dropout: float, lengths: int = LENGTHS) -> None:
        """`lengths` are told apart, all longer ones being one."""
        super().__init__()
        self.lengths = lengths
        self.boundaries = nn.Linear(word_width, 2 * width)
        self.dropout = nn.Dropout(dropout)
        self.bilinear = nn.Parameter(torch.empty(kinds, width, width))
        self.linear = nn.Linear(2 * width, kinds)
        self.length = nn.Embedding(lengths, kinds)
        nn.init.normal_(self.bilinear, std=1 / width)
        nn.init.zeros_(self.length.weight)

    def forward(self, words: Tensor) -> Tensor:
        """Of words (B, M, d), see `of_kinds`: (B, C, M, M)."""
        return self.of_kinds(self.as_boundaries(words), slice(None))

    def at(self, boundaries: Tensor, spans: Spans) -> Tensor:
        """The logits of N spans alone: (N, C), float32."""
        parts = [self.of_kinds(boundaries, part)[spans.sentence, :, spans.first, spans.last] for part in self.parts(boundaries)]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def parts(self, boundaries: Tensor) -> list[slice]:
        """The kinds in parts that fit into bounded memory: one, unless there are hundreds or windows are long."""
        sentences, words, width = boundaries.shape
        step = max(1, LARGEST // (sentences * words * max(words, width // 2)))
        return [slice(first, first + step) for first in range(0, len(self.bilinear), step)]

    def as_boundaries(self, words: Tensor) -> Tensor:
        """Every word as the start and as the end of a span: (B, M, 2k)."""
        both: Tensor = self.dropout(functional.gelu(self.boundaries(words)))
        return both

    def of_kinds(self, boundaries: Tensor, part: slice) -> Tensor:
        """Logits of some of the kinds, c in number, for every first and last word: (B, c, M, M), float32.

        Those with last < first mean nothing.
        """
        start, end = boundaries.chunk(2, dim=-1)  # (B, M, k) each
        form = start[:, None] @ self.bilinear[part].to(start.dtype)  # (B, c, M, k)
        logits: Tensor = (form @ end[:, None].transpose(-1, -2)).float()  # (B, c, M, M)
        from_start, from_end = self.linear.weight[part].chunk(2, dim=1)  # (c, k) each
        logits += functional.linear(start, from_start, self.linear.bias[part]).transpose(1, 2)[..., None]  # (B, c, M, 1)
        logits += functional.linear(end, from_end).transpose(1, 2)[:, :, None]  # (B, c, 1, M)
        word = torch.arange(logits.shape[-1], device=logits.device)
        distance = (word[None] - word[:, None]).clamp(0, self.lengths - 1)  # (M, M)
        by_length: Tensor = self.length(distance)[..., part].permute(2, 0, 1)  # (c, M, M)
        return logits + by_length
