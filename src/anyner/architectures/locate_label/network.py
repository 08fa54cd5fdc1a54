"""The network that filter, regressor and classifier have in common."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures.locate_label.config import Config
from anyner.encoding.encoder import States
from anyner.layers.spanpool import SpanMaxima, Spans, at_words, maxima_by_length


@dataclass(frozen=True, slots=True)
class SpanReader:
    """What the networks read of spans, prepared once a batch."""

    states: States
    maxima: SpanMaxima
    last_word: Tensor  # (B,)

    @classmethod
    def of(cls, states: States) -> SpanReader:
        return cls(states, SpanMaxima(states.words, states.words.shape[1]), states.word_mask.sum(1) - 1)


class SpanNetwork(nn.Module):
    """Two layers over [maximum of a span; a word on its left; a word on its right; sentence] (equations 1, 4 and 8).

    The first is split by its inputs: what reads a single word is computed once a word and not once a span.
    """

    def __init__(self, config: Config, width: int, sentence_width: int, outputs: int, outer: bool) -> None:
        """`outer`: reads the words beside the span and not those it begins and ends with."""
        super().__init__()
        self.outer = outer
        self.product = config.boundary_product
        self.dropout = nn.Dropout(config.dropout)
        self.maximum = nn.Linear(width, config.width)
        self.left = nn.Linear(width, config.width, bias=False)
        self.right = nn.Linear(width, config.width, bias=False)
        self.sentence = nn.Linear(sentence_width, config.width, bias=False) if config.sentence_vector else None
        self.output = nn.Linear(config.width, outputs)

    def by_word(self, words: Tensor, cls: Tensor) -> tuple[Tensor, Tensor]:
        """The shares of a word as the left and as the right one: (B, M, h) each."""
        words = self.dropout(words)  # one mask a word, whatever spans it bounds: only so can it be computed once
        left: Tensor = self.left(words)
        if self.sentence is not None:
            left = left + self.sentence(self.dropout(cls))[:, None]
        return left, self.right(words)

    def forward(self, reader: SpanReader, spans: Spans) -> Tensor:
        """(N, outputs), float32."""
        first, last = spans.first, spans.last
        if self.outer:  # beyond the sentence there is no word: its own first or last one stands in
            first, last = (first - 1).clamp(min=0), torch.minimum(last + 1, reader.last_word[spans.sentence])
        left, right = self.by_word(reader.states.words, reader.states.cls)
        maximum = self.maximum(self.dropout(reader.maxima.of(spans)))  # (N, h)
        left, right = at_words(left, spans.sentence, first), at_words(right, spans.sentence, last)  # (N, h) each
        return self._answer(maximum + left + right + (left * right if self.product else 0))

    def everywhere(self, words: Tensor, cls: Tensor, longest: int) -> Tensor:
        """For every span of up to `longest` words by its inner words, without lists of spans: (B, L, M, outputs), float32."""
        left, right = self.by_word(words, cls)
        hidden = self.maximum(maxima_by_length(words, longest))  # (B, L, M, h)
        hidden += left[:, None]
        beyond = functional.pad(right, (0, 0, 0, longest - 1))  # (B, M + L - 1, h)
        shifted = beyond.unfold(1, right.shape[1], 1).transpose(2, 3)  # (B, L, M, h) a view: row l is shifted by l words
        hidden += shifted
        if self.product:
            hidden.addcmul_(left[:, None], shifted)
        return self._answer(hidden)

    def _answer(self, hidden: Tensor) -> Tensor:
        return self.output(functional.gelu(hidden)).float()  # type: ignore[no-any-return]
