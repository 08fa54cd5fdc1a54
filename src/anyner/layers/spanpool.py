"""Span vectors from word vectors; spans are integers in one flat list over the batch, never masks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from anyner.encoding.pooling import entries, maxima


@dataclass(frozen=True, slots=True)
class Spans:
    """N spans anywhere in a batch."""

    sentence: Tensor  # (N,)
    first: Tensor  # (N,) first word
    last: Tensor  # (N,) last word, inclusive

    @classmethod
    def of_rows(cls, first: Tensor, last: Tensor) -> Spans:
        """From (B, K) spans, one row a sentence."""
        sentence = torch.arange(len(first), device=first.device)[:, None].expand_as(first)  # (B, K)
        return cls(sentence.flatten(), first.flatten(), last.flatten())

    def __len__(self) -> int:
        return len(self.sentence)

    def __getitem__(self, chosen: Tensor) -> Spans:
        return Spans(self.sentence[chosen], self.first[chosen], self.last[chosen])

    def split(self, size: int) -> list[Spans]:
        """Parts of at most `size` spans; without spans, one empty part."""
        parts = (torch.split(own, size) for own in (self.sentence, self.first, self.last))
        return [Spans(*part) for part in zip(*parts, strict=True)]


class SpanMaxima:
    """Max pooling over any span of words in two gathers, from a sparse table built once in O(M log M)."""

    def __init__(self, words: Tensor, longest: int) -> None:
        """`words` (B, M, d); no span will have more than `longest` words."""
        self._table = maxima(words, min(longest, words.shape[1]))  # (B, K, M, d)

    def of(self, spans: Spans) -> Tensor:
        """(N, d)"""
        _, levels, words, width = self._table.shape
        rows = self._table.view(-1, width)
        level, second = entries(spans.first, spans.last)
        base = (spans.sentence * levels + level) * words
        return torch.maximum(rows.index_select(0, base + spans.first), rows.index_select(0, base + second))


def at_words(words: Tensor, sentence: Tensor, word: Tensor) -> Tensor:
    """Vectors of words of any shape (...), from (B, M, d): (..., d). `sentence` broadcasts to that shape.

    Uses `index_select`: unlike that of indexing, its backward pass does not sort.
    """
    flat = (sentence * words.shape[1] + word).flatten()
    return words.flatten(0, 1).index_select(0, flat).view(*word.shape, words.shape[-1])
