"""The span network: filter, regressor and classifier are one each."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures.base import Step
from anyner.architectures.locate_label.config import Config
from anyner.encoding.encoder import States
from anyner.layers.span_classifier import LARGEST
from anyner.layers.spanpool import SpanMaxima, Spans, at_words

WIDTH = 256
"""Width of the hidden layers."""


class SpanReader:
    """The inputs that all three networks gather from, computed once a batch."""

    def __init__(self, states: States) -> None:
        self.states, self.maxima = states, SpanMaxima(states.words, states.words.shape[1])
        self.last_word = states.word_mask.sum(1) - 1  # (B,)


class SpanNetwork(nn.Module):
    """Two layers over [maximum over the span; a word on its left; a word on its right; sentence] (equations 1, 4 and 8).

    The first layer is split by its inputs, so that the part of a single word is computed once per word, not once per span.
    """

    def __init__(self, config: Config, width: int, sentence_width: int, outputs: int, outer: bool = False) -> None:
        """`outer`: read the words just outside the span instead of its first and last word."""
        super().__init__()
        self.outer = outer
        self.dropout = nn.Dropout(config.dropout)
        self.maximum = nn.Linear(width, WIDTH)
        self.left, self.right = (nn.Linear(width, WIDTH, bias=False) for _ in range(2))
        self.sentence = nn.Linear(sentence_width, WIDTH, bias=False) if config.extra_features else None
        self.output = nn.Linear(WIDTH, outputs)

    def forward(self, reader: SpanReader, spans: Spans) -> Tensor:
        """(N, outputs), float32."""
        states, (left, right) = reader.states, self.sides(reader.states)
        parts = spans.split(max(1, LARGEST // max(states.words.shape[2], WIDTH)))
        return torch.cat([self._of_spans(reader, left, right, part) for part in parts])

    def _of_spans(self, reader: SpanReader, left: Tensor, right: Tensor, spans: Spans) -> Tensor:
        first, last = spans.first, spans.last
        if self.outer:  # at the edge of the sentence, its own first or last word is read
            first, last = (first - 1).clamp(min=0), torch.minimum(last + 1, reader.last_word[spans.sentence])
        left, right = at_words(left, spans.sentence, first), at_words(right, spans.sentence, last)  # (N, h) each
        return self._output(reader.maxima.of(spans), left, right)

    def sides(self, states: States) -> tuple[Tensor, Tensor]:
        """What single words contribute on the left and on the right of a span: (B, M, h) each."""
        words = self.dropout(states.words)  # one mask per word for all its spans, so that its part is computed once
        left, right = self.left(words), self.right(words)
        if self.sentence is not None:
            left = left + self.sentence(self.dropout(states.cls))[:, None]
        return left, right

    def step(self) -> Step:
        """The rest of the network, for N spans, as a step of an exported model."""
        sides = {name: torch.zeros(2, WIDTH) for name in ("left", "right")}
        examples = {"maximum": torch.zeros(2, self.maximum.in_features), **sides}
        return Step(lambda *inputs: {"output": self._output(*inputs)}, examples, dict.fromkeys(examples, (0,)))

    def _output(self, maximum: Tensor, left: Tensor, right: Tensor) -> Tensor:
        """(N, outputs), float32, of the maxima over spans (N, d) and what their words contribute (N, h)."""
        hidden = self.maximum(self.dropout(maximum)) + left + right  # (N, h)
        if self.sentence is not None:  # the product is the other extra feature
            hidden = hidden + left * right
        return self.output(functional.gelu(hidden)).float()  # type: ignore[no-any-return]
