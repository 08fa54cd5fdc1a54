"""The denoiser: from noisy spans, the sentence and the step to boundaries and a type for each span (section 3.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from anyner.architectures.base import Step
from anyner.architectures.diffusion_ner.config import Config
from anyner.encoding.encoder import States
from anyner.encoding.pooling import take
from anyner.layers.decoder import Norm

LAYERS = {"default": 1, "paper": 2}
HEADS = {"default": 4, "paper": 8}
FEED_FORWARD = {"default": 512, "paper": 1024}
_SPANS_AT_ONCE = 8
_OUTSIDE = -1e4
_BOUNDARY_PRIOR = 0.075
"""Initial probability that a word is a boundary: few are, and learning that first would waste steps."""
Memory = tuple[Tensor, Tensor]
"""Keys and values of attention: (B, heads, N, w / heads) each."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What does not change between steps, computed once for each sentence."""

    outside: Tensor  # (B, 1, M) added to logits of words: 0, or very negative at padding
    first: Tensor  # (B, M, w) words as first words of noisy spans
    last: Tensor  # (B, M, w)
    memory: tuple[Memory, ...]  # of cross-attention, for each layer; empty without it
    left: Tensor  # (B, M, w) words as left boundaries, for the pointer
    right: Tensor  # (B, M, w)
    typed: tuple[Tensor, ...]  # (B, M, w) words as left and as right boundaries, for the type; none in the paper

    def named(self) -> dict[str, Tensor]:
        """The fields by name, as exported steps pass them on; a mask of words takes the place of `outside`."""
        words = {"first": self.first, "last": self.last, "left_words": self.left, "right_words": self.right}
        typed = {f"typed_{side}": own for side, own in enumerate(self.typed)}
        layers = ((n, zip(("keys", "values"), own, strict=True)) for n, own in enumerate(self.memory))
        return {**words, **typed, **{f"memory_{name}_{n}": own for n, both in layers for name, own in both}}

    @classmethod
    def of_named(cls, named: Mapping[str, Tensor]) -> Sentence:
        """From what `named` returns, in its order, and `mask` (B, M)."""
        first, last, left, right = (named[name] for name in ("first", "last", "left_words", "right_words"))
        typed, memory = ([own for name, own in named.items() if name.startswith(kind)] for kind in ("typed_", "memory_"))
        layers = tuple(zip(memory[::2], memory[1::2], strict=True))
        return cls(_outside(named["mask"], first.dtype), first, last, layers, left, right, tuple(typed))


@dataclass(frozen=True, slots=True)
class Pointed:
    """Span vectors and boundary logits: all that the steps before the last need."""

    spans: Tensor  # (B, K, w) the denoised span vectors
    left: Tensor  # (B, K, M)
    right: Tensor  # (B, K, M)


@dataclass(frozen=True, slots=True)
class Predictions:
    """Logits, float32."""

    left: Tensor  # (B, K, M)
    right: Tensor  # (B, K, M)
    types: Tensor  # (B, K, 1 + C), 0: no entity


class Denoiser(nn.Module):
    def __init__(self, config: Config, word_width: int, types: int) -> None:
        super().__init__()
        self.paper, width = config.denoiser == "paper", config.width or word_width
        self.words = nn.Linear(word_width, width)
        self.left, self.right = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.position, self.slot = (Sinusoid(width) if there else None for there in (not self.paper, self.paper))
        self.time = Sinusoid(width)
        self.layers = nn.ModuleList(Layer(config, width) for _ in range(LAYERS[config.denoiser]))
        self.final_norm = None if self.paper else Norm(width)
        self.left_pointer, self.right_pointer = Pointer(self.paper, width), Pointer(self.paper, width)
        self.type_left, self.type_right = (None if self.paper else nn.Linear(width, width, bias=False) for _ in range(2))
        self.type_span, self.types = nn.Linear(width, width), nn.Linear(width, types)
        self.dropout = nn.Dropout(config.dropout)

    def read(self, states: States) -> Sentence:
        return self.sentence_of(states.words, states.word_mask)

    def sentence_of(self, words: Tensor, mask: Tensor) -> Sentence:
        """From words (B, M, d)."""
        words = self.words(words)  # (B, M, w)
        if self.position is not None:
            words = words + self.position(torch.arange(words.shape[1], device=words.device)).to(words.dtype)
        memory = (layer.memory(words) for layer in self.layers if isinstance(layer, Layer))
        return Sentence(
            outside=_outside(mask, words.dtype),
            first=self.left(words),
            last=self.right(words),
            memory=tuple(own for own in memory if own is not None),
            left=self.left_pointer.read(words),
            right=self.right_pointer.read(words),
            typed=tuple(layer(words) for layer in (self.type_left, self.type_right) if layer is not None),
        )

    def pointed(self, sentence: Sentence, first: Tensor, last: Tensor, time: Tensor) -> Pointed:
        """Boundaries of spans `first..last` (B, K) at steps with embeddings (B, w), or (1, w) if all are at the same step."""
        spans = self.dropout(take(sentence.first, first) + take(sentence.last, last))  # (B, K, w)
        time, slot = time[:, None].to(spans.dtype), None  # (B, 1, w)
        if self.slot is not None:
            slot = self.slot(torch.arange(first.shape[1], device=first.device)).to(spans.dtype)  # (K, w)
        if not self.paper:
            spans = spans + time
        for layer, memory in zip_longest(self.layers, sentence.memory):
            spans = layer(spans, slot, memory, sentence.outside)
        spans = spans + time if self.final_norm is None else self.final_norm(spans)
        left = self.left_pointer(spans, sentence.left, sentence.outside)
        return Pointed(spans, left, self.right_pointer(spans, sentence.right, sentence.outside))

    def steps(self) -> Mapping[str, Step]:
        """The steps of an exported model: read the sentences, point at boundaries, predict types.

        The fields of `Sentence` are passed between them as named tensors.
        """
        words, mask = torch.zeros(2, 3, self.words.in_features), torch.ones(2, 3, dtype=torch.bool)
        span, step = torch.zeros(2, 4, dtype=torch.long), torch.zeros(1, dtype=torch.long)
        with torch.no_grad():
            example = self.sentence_of(words, mask)
            pointed = self.pointed(example, span, span, self.time(step))
        parts = {**example.named(), "mask": mask}

        def sentence(words: Tensor) -> Mapping[str, Tensor]:
            return self.sentence_of(words, torch.ones_like(words[..., 0], dtype=torch.bool)).named()

        def point(*inputs: Tensor) -> Mapping[str, Tensor]:
            *others, first, last, here = inputs
            pointed = self.pointed(known(others), first, last, self.time(here))
            return {"spans": pointed.spans, "left": pointed.left, "right": pointed.right}

        def types(*inputs: Tensor) -> Mapping[str, Tensor]:
            *others, vectors, left, right = inputs
            return {"types": self.typed(known(others), Pointed(vectors, left, right)).types}

        def known(inputs: Sequence[Tensor]) -> Sentence:
            return Sentence.of_named(dict(zip(parts, inputs, strict=True)))

        by_word = {name: (0, 2) if part.dim() == 4 else (0, 1) for name, part in parts.items()}
        pointing, typing = (0, 1), (0, 1, 2)
        spans_in = {"first_word": span, "last_word": span.clone(), "step": step}
        types_in = {"spans": pointed.spans, "left": pointed.left, "right": pointed.right}
        return {
            "sentence": Step(sentence, {"words": words}, {"words": (0, 1)}),
            "point": Step(point, {**parts, **spans_in}, {**by_word, "first_word": pointing, "last_word": pointing, "step": ()}),
            "type": Step(types, {**parts, **types_in}, {**by_word, "spans": pointing, "left": typing, "right": typing}),
        }

    def typed(self, sentence: Sentence, pointed: Pointed) -> Predictions:
        left, right = pointed.left.float(), pointed.right.float()
        hidden = self.type_span(pointed.spans)  # (B, K, w)
        for logits, words in zip((left, right), sentence.typed, strict=False):
            hidden = hidden + logits.softmax(-1).to(words.dtype) @ words
        return Predictions(left, right, self.types(functional.gelu(hidden)).float())


def _outside(mask: Tensor, kind: torch.dtype) -> Tensor:
    """`Sentence.outside` from a word mask (B, M): (B, 1, M)."""
    return torch.where(mask, 0.0, _OUTSIDE).to(kind)[:, None]


class Sinusoid(nn.Module):
    """Sinusoidal embedding of whole numbers, through two linear layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.layers = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, numbers: Tensor) -> Tensor:
        """(N,) -> (N, width)"""
        half = self.width // 2
        frequencies = torch.exp(torch.arange(half, device=numbers.device) * (-math.log(10_000) / max(half - 1, 1)))
        angles = numbers.float()[:, None] * frequencies  # (N, half)
        return self.layers(torch.cat([angles.sin(), angles.cos()], dim=-1))  # type: ignore[no-any-return]


class Residual(nn.Module):
    """A sublayer with a residual connection: pre-norm, or post-norm in the paper."""

    part: Callable[..., Tensor]

    def __init__(self, config: Config, width: int) -> None:
        super().__init__()
        self.post_norm = config.denoiser == "paper"
        self.norm, self.dropout = Norm(width), nn.Dropout(config.dropout)

    def forward(self, spans: Tensor, *others: Tensor | Memory | None) -> Tensor:
        if self.post_norm:
            return self.norm(spans + self.dropout(self.part(spans, *others)))  # type: ignore[no-any-return]
        return spans + self.dropout(self.part(self.norm(spans), *others))  # type: ignore[no-any-return]


class Attention(Residual):
    """Attention of spans (B, K, w) to each other, or to the words if their memory is given."""

    def __init__(self, config: Config, width: int) -> None:
        super().__init__(config, width)
        self.heads, self.attention_dropout = HEADS[config.denoiser], config.dropout
        self.query, self.keys, self.values, self.output = (nn.Linear(width, width) for _ in range(4))

    def part(self, spans: Tensor, slot: Tensor | None, memory: Memory | None = None, outside: Tensor | None = None) -> Tensor:
        located = spans if slot is None else spans + slot
        keys, values = memory or self.memory(located, spans)
        seen = outside[:, None] if outside is not None else None  # (B, 1, 1, M)
        dropout = self.attention_dropout if self.training else 0.0
        query = self._by_head(self.query(located))
        attended = functional.scaled_dot_product_attention(query, keys, values, seen, dropout)
        return self.output(attended.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def memory(self, keys: Tensor, values: Tensor) -> Memory:
        return self._by_head(self.keys(keys)), self._by_head(self.values(values))

    def _by_head(self, rows: Tensor) -> Tensor:
        """(B, N, w) -> (B, heads, N, w / heads)"""
        return rows.view(*rows.shape[:2], self.heads, -1).transpose(1, 2)


class FeedForward(Residual):
    def __init__(self, config: Config, width: int) -> None:
        super().__init__(config, width)
        inner, activation = FEED_FORWARD[config.denoiser], nn.ReLU() if config.denoiser == "paper" else nn.GELU()
        self.inner = nn.Sequential(nn.Linear(width, inner), activation, nn.Dropout(config.dropout), nn.Linear(inner, width))

    def part(self, spans: Tensor) -> Tensor:
        return self.inner(spans)  # type: ignore[no-any-return]


class Layer(nn.Module):
    """Self-attention, cross-attention, feed-forward; either attention can be left out (the paper's Table 4)."""

    def __init__(self, config: Config, width: int) -> None:
        super().__init__()
        self.self_attention = Attention(config, width) if config.attention in ("both", "self") else None
        self.cross_attention = Attention(config, width) if config.attention in ("both", "cross") else None
        self.feed_forward = FeedForward(config, width)

    def memory(self, words: Tensor) -> Memory | None:
        return self.cross_attention.memory(words, words) if self.cross_attention is not None else None

    def forward(self, spans: Tensor, slot: Tensor | None, memory: Memory | None, outside: Tensor) -> Tensor:
        if self.self_attention is not None:
            spans = self.self_attention(spans, slot)
        if self.cross_attention is not None:
            spans = self.cross_attention(spans, slot, memory, outside)
        return self.feed_forward(spans)  # type: ignore[no-any-return]


class Pointer(nn.Module):
    """Logits of each word as a boundary of each span, (B, K, M): bilinear (fast), or the paper's additive one."""

    def __init__(self, paper: bool, width: int) -> None:
        super().__init__()
        self.of_words, self.of_spans = nn.Linear(width, width), nn.Linear(width, width)
        self.output = nn.Linear(width, 1) if paper else None
        self.bias = nn.Parameter(torch.logit(torch.tensor(0.5 if paper else _BOUNDARY_PRIOR)))

    def read(self, words: Tensor) -> Tensor:
        words = self.of_words(words)  # (B, M, w)
        return words if self.output is not None else words * words.shape[-1] ** -0.5

    def forward(self, spans: Tensor, words: Tensor, outside: Tensor) -> Tensor:
        """Of spans (B, K, w) and words (B, M, w) as `read` gives them."""
        spans, bias = self.of_spans(spans), outside + self.bias  # (B, K, w), (B, 1, M)
        if self.output is None:
            return torch.baddbmm(bias, spans, words.transpose(1, 2))
        if torch.compiler.is_exporting():  # in prediction on a CPU batches are small
            return self._additive(spans, words) + bias
        # The whole (B, K, M, w) tensor is never stored: it is made for a few spans at a time, and again in the backward pass.
        parts = torch.split(spans, _SPANS_AT_ONCE, dim=1)
        logits = [checkpoint(self._additive, part, words, use_reentrant=False, preserve_rng_state=False) for part in parts]
        return torch.cat(logits, dim=1) + bias

    def _additive(self, spans: Tensor, words: Tensor) -> Tensor:
        assert self.output is not None
        return self.output(functional.relu(spans[:, :, None] + words[:, None]))[..., 0]  # type: ignore[no-any-return]
