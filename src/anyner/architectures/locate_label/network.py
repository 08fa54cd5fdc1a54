"""The network that filter, regressor and classifier have in common."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures.locate_label.config import Config
from anyner.encoding.encoder import States
from anyner.layers.spanpool import SpanMaxima, Spans, at_words, maxima_by_length

LARGEST = 2**27
"""Most elements of one tensor; what needs more is computed in parts."""


@dataclass(frozen=True, slots=True)
class SpanReader:
    """The inputs that all three networks gather from, computed once a batch."""

    states: States
    maxima: SpanMaxima
    last_word: Tensor  # (B,)

    @classmethod
    def of(cls, states: States) -> SpanReader:
        return cls(states, SpanMaxima(states.words, states.words.shape[1]), states.word_mask.sum(1) - 1)


class SpanNetwork(nn.Module):
    """Two layers over [maximum over the span; a word on its left; a word on its right; sentence] (equations 1, 4 and 8).

    The first layer is split by its inputs, so that the part of a single word is computed once a word and not once a span.
    """

    def __init__(self, config: Config, width: int, sentence_width: int, outputs: int, outer: bool) -> None:
        """`outer`: read the words just outside the span instead of its first and last word."""
        super().__init__()
        self.outer = outer
        self.product = config.boundary_product
        self.dropout = nn.Dropout(config.dropout)
        self.maximum = nn.Linear(width, config.width)
        self.left = nn.Linear(width, config.width, bias=False)
        self.right = nn.Linear(width, config.width, bias=False)
        self.sentence = nn.Linear(sentence_width, config.width, bias=False) if config.sentence_vector else None
        self.output = nn.Linear(config.width, outputs)

    def forward(self, reader: SpanReader, spans: Spans) -> Tensor:
        """(N, outputs), float32."""
        words = self._by_word(reader.states.words, reader.states.cls)
        at_once = max(1, LARGEST // max(reader.states.words.shape[2], self.left.out_features))
        return torch.cat([self._of_spans(reader, words, part) for part in spans.split(at_once)])

    def all_spans(self, words: Tensor, cls: Tensor, longest: int) -> Tensor:
        """For every span of up to `longest` words by its inner words: (B, L, M, outputs), float32. Prediction only."""
        of_one = longest * words.shape[1] * max(words.shape[2], self.left.out_features)
        at_once = max(1, LARGEST // of_one)
        parts = zip(torch.split(words, at_once), torch.split(cls, at_once), strict=True)
        return torch.cat([self._of_all_spans(*part, longest) for part in parts])

    def _by_word(self, words: Tensor, cls: Tensor) -> tuple[Tensor, Tensor]:
        """The hidden layer's share of each word as the left and as the right one: (B, M, h) each."""
        words = self.dropout(words)  # one mask a word for all its spans, or the share could not be computed once
        left: Tensor = self.left(words)
        if self.sentence is not None:
            left = left + self.sentence(self.dropout(cls))[:, None]
        return left, self.right(words)

    def _of_spans(self, reader: SpanReader, words: tuple[Tensor, Tensor], spans: Spans) -> Tensor:
        first, last = spans.first, spans.last
        if self.outer:  # at the edge of the sentence its own first or last word stands in
            first, last = (first - 1).clamp(min=0), torch.minimum(last + 1, reader.last_word[spans.sentence])
        left, right = at_words(words[0], spans.sentence, first), at_words(words[1], spans.sentence, last)  # (N, h) each
        hidden = self.maximum(self.dropout(reader.maxima.of(spans))) + left + right  # (N, h)
        return self._output(hidden + left * right if self.product else hidden)

    def _of_all_spans(self, words: Tensor, cls: Tensor, longest: int) -> Tensor:
        left, right = self._by_word(words, cls)
        hidden = self.maximum(maxima_by_length(words, longest))  # (B, L, M, h)
        hidden += left[:, None]
        padded = functional.pad(right, (0, 0, 0, longest - 1))  # (B, M + L - 1, h)
        last = padded.unfold(1, right.shape[1], 1).transpose(2, 3)  # (B, L, M, h) a view: each span's last word
        hidden += last
        if self.product:
            hidden.addcmul_(left[:, None], last)
        return self._output(hidden)

    def _output(self, hidden: Tensor) -> Tensor:
        return self.output(functional.gelu(hidden)).float()  # type: ignore[no-any-return]
