"""The denoiser: reads noisy spans, the sentence and the step, and answers with boundaries and a type for each (section 3.4)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from anyner.architectures.diffusion_ner.config import Config
from anyner.encoding.encoder import States
from anyner.encoding.pooling import stretch_mean, take
from anyner.layers.boundary_pairs import BoundaryPairs
from anyner.layers.everywhere import expecting_nothing
from anyner.layers.norm import Norm
from anyner.layers.spanpool import Spans

_SPANS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Boundary:
    """Words as boundaries of one side."""

    words: Tensor  # (B, M, w)
    offset: Tensor  # (B, 1, M) added to their logits: how rare a boundary is, and that padding is none


@dataclass(frozen=True, slots=True)
class Sentence:
    """What of the sentence no step changes, computed once: keys and values, sides of the pointers, span features by word."""

    mask: Tensor  # (B, M) bool
    left: Tensor | None  # (B, M, w) of a word as the first of a span
    right: Tensor | None  # (B, M, w) as its last
    inside: Tensor | None  # (B, M, w)
    memory: tuple[tuple[Tensor, Tensor] | None, ...]  # keys and values of each layer, (B, heads, M, w / heads)
    boundaries: tuple[Boundary, Boundary]  # left and right
    typed: tuple[Tensor, Tensor] | None  # (B, M, w) a word as the left and the right one of a type
    pairs: Tensor | None  # (B, M, 2k) a word as the first and the last of a pair


@dataclass(frozen=True, slots=True)
class Pointed:
    """Where the spans should begin and end: all that the steps before the last need."""

    spans: Tensor  # (B, K, w) what the denoiser made of them
    left: Tensor  # (B, K, M)
    right: Tensor  # (B, K, M)


@dataclass(frozen=True, slots=True)
class Answers:
    """Logits, float32."""

    left: Tensor  # (B, K, M)
    right: Tensor  # (B, K, M)
    types: Tensor  # (B, K, 1 + C), 0: no entity

    def detach(self) -> Answers:
        return Answers(self.left.detach(), self.right.detach(), self.types.detach())


class Denoiser(nn.Module):
    def __init__(self, config: Config, word_width: int, types: int) -> None:
        super().__init__()
        self.config, width = config, config.width
        self.words = nn.Linear(word_width, width)
        self.left = nn.Linear(width, width, bias=False) if config.span_features != "mean" else None
        self.right = nn.Linear(width, width, bias=False) if config.span_features != "mean" else None
        self.inside = nn.Linear(width, width, bias=False) if config.span_features != "boundaries" else None
        self.slot = Sinusoid(width) if config.slot_embedding else None
        self.time = Sinusoid(width)
        self.scale_shift = nn.Linear(width, 2 * width) if config.time == "scale_shift" else None
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.normalised = Norm(width)
        self.left_pointer, self.right_pointer = Pointer(config), Pointer(config)
        self.position = Sinusoid(width) if config.word_positions else None
        self.of_left, self.of_right = (
            nn.Linear(width, width, bias=False) if config.type_reads == "boundaries" else None for _ in range(2)
        )
        self.pairs = BoundaryPairs(word_width, config.pairs, types, dropout=config.pairs_dropout) if config.pairs else None
        self.of_span, self.types = nn.Linear(width, width), nn.Linear(width, types)
        if self.pairs is not None and config.everywhere_weight:
            expecting_nothing(self.pairs, beside=self.types)
        self.dropout = nn.Dropout(config.dropout)

    def read(self, states: States) -> Sentence:
        words = self.words(states.words)  # (B, M, w)
        if self.position is not None:
            words = words + self.position(torch.arange(words.shape[1], device=words.device)).to(words.dtype)
        return Sentence(
            mask=states.word_mask,
            left=self.left(words) if self.left is not None else None,
            right=self.right(words) if self.right is not None else None,
            inside=self.inside(words) if self.inside is not None else None,
            memory=tuple(layer.remembered(words) for layer in self.layers if isinstance(layer, Layer)),
            boundaries=(
                self.left_pointer.boundary(words, states.word_mask),
                self.right_pointer.boundary(words, states.word_mask),
            ),
            typed=(self.of_left(words), self.of_right(words)) if self.of_left is not None and self.of_right is not None else None,
            pairs=self.pairs.as_boundaries(states.words) if self.pairs is not None else None,
        )

    def forward(self, sentence: Sentence, first: Tensor, last: Tensor, step: Tensor) -> Answers:
        """Answers for spans `first..last` (B, K) at steps (B,)."""
        return self.typed(sentence, self.pointed(sentence, first, last, self.times(step), self.slots(first)))

    def times(self, step: Tensor) -> Tensor:
        """(N,) -> (N, 1, w)"""
        return self.time(step)[:, None]  # type: ignore[no-any-return]

    def slots(self, first: Tensor) -> Tensor | None:
        """What tells spans (B, K) apart, whatever they are: (K, w)."""
        return self.slot(torch.arange(first.shape[1], device=first.device)) if self.slot is not None else None

    def pointed(self, sentence: Sentence, first: Tensor, last: Tensor, time: Tensor, slot: Tensor | None) -> Pointed:
        """`time` is what `times` gives for the sentences, or for one step of all; `slot` what `slots` gives."""
        spans = self._seen(sentence, first, last)  # (B, K, w)
        time, slot = time.to(spans.dtype), slot.to(spans.dtype) if slot is not None else None
        if self.config.time_in_attention:
            spans = self._at(spans, time)
        for layer, memory in zip(self.layers, sentence.memory, strict=True):
            spans = layer(spans, slot, memory, sentence.mask)
        if not self.config.time_in_attention:
            spans = self._at(spans, time)
        spans = self.normalised(spans)
        left, right = sentence.boundaries
        return Pointed(spans, self.left_pointer(spans, left), self.right_pointer(spans, right))

    def typed(self, sentence: Sentence, pointed: Pointed) -> Answers:
        left, right = pointed.left.float(), pointed.right.float()
        hidden = self.of_span(pointed.spans)  # (B, K, w)
        if sentence.typed is not None:
            first, last = (
                logits.softmax(-1).to(words.dtype) @ words for logits, words in zip((left, right), sentence.typed, strict=True)
            )  # (B, K, w) each
            hidden = hidden + first + last
        types = self.types(functional.gelu(hidden)).float()  # (B, K, 1 + C)
        if self.pairs is not None and sentence.pairs is not None:
            spans = Spans.of_rows(left.argmax(2), right.argmax(2))
            types = types + self.pairs.at(sentence.pairs, spans).view_as(types)
        return Answers(left, right, types)

    def _seen(self, sentence: Sentence, first: Tensor, last: Tensor) -> Tensor:
        parts = []
        if sentence.left is not None and sentence.right is not None:
            parts.append(take(sentence.left, first) + take(sentence.right, last))
        if sentence.inside is not None:
            parts.append(stretch_mean(sentence.inside, first, last))
        return self.dropout(sum(parts[1:], parts[0]))  # type: ignore[no-any-return]

    def _at(self, spans: Tensor, time: Tensor) -> Tensor:
        if self.scale_shift is None:
            return spans + time
        scale, shift = self.scale_shift(functional.silu(time)).chunk(2, dim=-1)  # (B, 1, w) each
        shifted: Tensor = spans * (1 + scale) + shift
        return shifted


class Sinusoid(nn.Module):
    """A whole number as waves of many lengths, through two layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.layers = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, numbers: Tensor) -> Tensor:
        """(N,) -> (N, width)"""
        half = self.width // 2
        lengths = torch.exp(torch.arange(half, device=numbers.device) * (-math.log(10_000) / max(half - 1, 1)))
        angles = numbers.float()[:, None] * lengths  # (N, width / 2)
        return self.layers(torch.cat([angles.sin(), angles.cos()], dim=-1))  # type: ignore[no-any-return]


class Attention(nn.Module):
    """Several heads of attention to spans or words, normalised before, added to what was there."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads, self.drop = config.heads, config.dropout
        self.norm = Norm(config.width)
        self.asking = nn.Linear(config.width, config.width)
        self.keys, self.values = nn.Linear(config.width, config.width), nn.Linear(config.width, config.width)
        self.output = nn.Linear(config.width, config.width)
        self.dropout = nn.Dropout(config.dropout)

    def among(self, spans: Tensor, slot: Tensor | None) -> Tensor:
        """Spans look at each other: (B, K, w)."""
        seen = self.norm(spans)
        known = seen if slot is None else seen + slot
        return spans + self._told(known, self._by_head(self.keys(known)), self._by_head(self.values(seen)), None)

    def remembered(self, words: Tensor) -> tuple[Tensor, Tensor]:
        return self._by_head(self.keys(words)), self._by_head(self.values(words))

    def to_words(self, spans: Tensor, slot: Tensor | None, memory: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        seen = self.norm(spans)
        return spans + self._told(seen if slot is None else seen + slot, *memory, mask[:, None, None])

    def _told(self, asking: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        drop, query = self.drop if self.training else 0.0, self._by_head(self.asking(asking))
        told = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=drop)
        return self.dropout(self.output(told.transpose(1, 2).flatten(2)))  # type: ignore[no-any-return]

    def _by_head(self, rows: Tensor) -> Tensor:
        """(B, N, w) -> (B, heads, N, w / heads)"""
        return rows.view(*rows.shape[:2], self.heads, -1).transpose(1, 2)


class Layer(nn.Module):
    """Spans look at each other, then at the words, then think; each part can be left out but the last (the paper's Table 4)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.width
        self.among = Attention(config) if config.self_attention else None
        self.to_words = Attention(config) if config.cross_attention else None
        self.norm = Norm(width)
        self.feed = nn.Sequential(
            nn.Linear(width, config.feed_forward), nn.GELU(), nn.Dropout(config.dropout), nn.Linear(config.feed_forward, width)
        )
        self.dropout = nn.Dropout(config.dropout)

    def remembered(self, words: Tensor) -> tuple[Tensor, Tensor] | None:
        return self.to_words.remembered(words) if self.to_words is not None else None

    def forward(self, spans: Tensor, slot: Tensor | None, memory: tuple[Tensor, Tensor] | None, mask: Tensor) -> Tensor:
        if self.among is not None:
            spans = self.among.among(spans, slot)
        if self.to_words is not None and memory is not None:
            spans = self.to_words.to_words(spans, slot, memory, mask)
        return spans + self.dropout(self.feed(self.norm(spans)))  # type: ignore[no-any-return]


class Pointer(nn.Module):
    """How much each word is a span's boundary: (B, K, M)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.additive = config.pointer == "additive"
        self.of_words, self.of_spans = nn.Linear(config.width, config.width), nn.Linear(config.width, config.width)
        self.output = nn.Linear(config.width, 1) if self.additive else None
        self.bias = nn.Parameter(torch.logit(torch.tensor(config.boundary_prior)))

    def boundary(self, words: Tensor, mask: Tensor) -> Boundary:
        pointed = self.of_words(words)  # (B, M, w)
        offset = torch.where(mask, self.bias, -1e4).to(pointed.dtype)[:, None]
        return Boundary(pointed if self.additive else pointed * pointed.shape[-1] ** -0.5, offset)

    def forward(self, spans: Tensor, boundary: Boundary) -> Tensor:
        asking, words = self.of_spans(spans), boundary.words  # (B, K, w), (B, M, w)
        if self.output is None:
            return torch.baddbmm(boundary.offset, asking, words.transpose(1, 2))
        # A (B, K, M, w) tensor is never whole: made for a few spans at a time, and again on the way back instead of being kept.
        parts = torch.split(asking, _SPANS_AT_ONCE, dim=1)
        if torch.is_grad_enabled():
            summed = [checkpoint(self._summed, part, words, use_reentrant=False) for part in parts]
        else:
            summed = [self._summed(part, words) for part in parts]
        return torch.cat(summed, dim=1) + boundary.offset

    def _summed(self, asking: Tensor, words: Tensor) -> Tensor:
        assert self.output is not None
        return self.output(functional.relu(asking[:, :, None] + words[:, None]))[..., 0]  # type: ignore[no-any-return]
