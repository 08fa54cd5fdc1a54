"""A Transformer decoder for many short sequences per sentence; a sentence's keys and values are computed only once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.layers.sequences import Placed

Activation = Literal["gelu", "gelu_new", "relu", "silu"]
Sublayer = Callable[[Tensor], Tensor]
Past = tuple[int, Tensor]
"""Index of the current position, and the cache of keys and values."""
_MOST_SEQUENCES = 65_535
"""CUDA's limit on blocks in the grid dimension that attention kernels use for sequences."""


@dataclass(frozen=True, slots=True)
class DecoderShape:
    width: int
    layers: int
    heads: int
    head_width: int
    feed_forward: int
    memory_width: int  # width of the vectors that cross-attention reads
    norm: Literal["layer", "rms"] = "layer"
    norm_first: bool = True  # before each sublayer (mBART, T5, new decoders) or after it (BART, BERT)
    input_norm: bool = False  # on the embedded input (BART, mBART)
    output_norm: bool = True  # after the last layer (mBART, T5, new decoders)
    activation: Activation = "gelu"
    gated: bool = False  # T5 v1.1
    bias: bool = True
    scaled: bool = True  # scores divided by the square root of the head width; not in T5
    relative: tuple[int, int] | None = None  # T5's: buckets, and the distance from which all share the last
    epsilon: float = 1e-5
    dropout: float = 0.1


@dataclass(frozen=True, slots=True)
class Memory:
    """Keys and values of the sentences, computed once for all sequences and steps."""

    layers: tuple[tuple[Tensor, Tensor], ...]  # (B, heads, S, head width) each
    mask: Tensor | None  # (B, S) bool; None: nothing is padding

    def named(self) -> dict[str, Tensor]:
        """The keys and values by name, as exported steps pass them on."""
        every = ((number, zip(("keys", "values"), layer, strict=True)) for number, layer in enumerate(self.layers))
        return {f"memory_{name}_{number}": value for number, layer in every for name, value in layer}


class Decoder(nn.Module):
    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.shape = shape
        self.input_norm = new_norm(shape) if shape.input_norm else nn.Identity()
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.output_norm = new_norm(shape) if shape.output_norm else nn.Identity()
        self.relative = RelativeBias(*shape.relative, shape.heads) if shape.relative is not None else None
        self.dropout = nn.Dropout(shape.dropout)
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear):
                # deeper decoders start with smaller residual projections
                nn.init.normal_(module.weight, std=0.02 / math.sqrt(2 * shape.layers) if name.endswith(".output") else 0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def project_memory(self, states: Tensor, mask: Tensor | None) -> Memory:
        """Projects sentences (B, S, memory width) to keys and values; `mask` (B, S) is False at padding."""
        return Memory(tuple(layer.to_memory.project_memory(states) for layer in self.each_layer), mask)

    def forward(self, inputs: Tensor, at: Placed, memory: Memory, causal: bool = True, past: Past | None = None) -> Tensor:
        """Decodes sequences placed `at` their sentences: (N, T, w) -> (N, T, w); `causal`: no position sees a later one.

        With a `past` (incremental decoding, prediction only) T is 1: the current position, which is added to the cache.
        """
        states = self.dropout(self.input_norm(inputs.to(working_type(inputs))))
        first, bias = past[0] if past is not None else 0, None
        if self.relative is not None:
            bias = self.relative(first + inputs.shape[1], causal)[:, :, first:].to(states.dtype)
        for number, (layer, key_value) in enumerate(zip(self.each_layer, memory.layers, strict=True)):
            own_past = (first, past[1][:, number]) if past is not None else None
            self_attention = partial(layer.among, bias=bias, causal=causal, past=own_past)
            cross_attention = partial(layer.to_memory, sequences=at, key_value=key_value, mask=memory.mask)
            states = layer(states, self_attention, cross_attention)
        return self.output_norm(states)  # type: ignore[no-any-return]

    def cache(self, sequences: int, longest: int, like: Tensor) -> Tensor:
        """An empty cache for self-attention's keys and values: (2, layers, N, heads, longest, head width).

        On the device of `like` and in its working type.
        """
        size = (2, self.shape.layers, sequences, self.shape.heads, longest, self.shape.head_width)
        return torch.empty(size, dtype=working_type(like), device=like.device)

    @property
    def each_layer(self) -> tuple[Layer, ...]:
        return tuple(layer for layer in self.layers if isinstance(layer, Layer))


class Layer(nn.Module):
    """Self-attention within a sequence, cross-attention to its sentence, feed-forward."""

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.norm_first = shape.norm_first
        # `among` is self-attention, `to_memory` cross-attention: stored weights have these names
        self.among, self.to_memory, self.feed = SelfAttention(shape), CrossAttention(shape), FeedForward(shape)
        self.among_norm, self.memory_norm, self.feed_norm = new_norm(shape), new_norm(shape), new_norm(shape)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, states: Tensor, self_attention: Sublayer, cross_attention: Sublayer) -> Tensor:
        states = self._residual(states, self.among_norm, self_attention)
        states = self._residual(states, self.memory_norm, cross_attention)
        return self._residual(states, self.feed_norm, self.feed)

    def _residual(self, states: Tensor, norm: nn.Module, sublayer: Sublayer) -> Tensor:
        if self.norm_first:
            return states + self.dropout(sublayer(norm(states)))  # type: ignore[no-any-return]
        return norm(states + self.dropout(sublayer(states)))  # type: ignore[no-any-return]


class Attention(nn.Module):
    """Base of self- and cross-attention; projections of the same input are one matrix."""

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.heads, self.head_width, self.drop = shape.heads, shape.head_width, shape.dropout
        self.scale = None if shape.scaled else 1.0
        self.inner = shape.heads * shape.head_width
        self.output = nn.Linear(self.inner, shape.width, bias=shape.bias)

    def by_head(self, projected: Tensor) -> tuple[Tensor, ...]:
        """(N, T, k * inner) -> k of (N, heads, T, head width)"""
        count, steps, width = projected.shape
        return projected.view(count, steps, width // self.inner, self.heads, self.head_width).permute(2, 0, 3, 1, 4).unbind()

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool = False) -> Tensor:
        """(N, T, inner)"""
        drop = self.drop if self.training else 0.0
        context = functional.scaled_dot_product_attention(query, key, value, mask, drop, causal, scale=self.scale)
        return context.transpose(1, 2).flatten(2)


class SelfAttention(Attention):
    def __init__(self, shape: DecoderShape) -> None:
        super().__init__(shape)
        self.joint = nn.Linear(shape.width, 3 * self.inner, bias=shape.bias)  # query, key, value

    def forward(self, states: Tensor, bias: Tensor | None, causal: bool, past: Past | None) -> Tensor:
        """A `bias` masks later positions itself. With a `past`, T is 1."""
        query, key, value = self.by_head(self.joint(states))  # (N, heads, T, head width)
        if past is not None:
            number, (keys, values) = past
            keys[:, :, number], values[:, :, number] = key[:, :, 0], value[:, :, 0]
            key, value = keys[:, :, : number + 1], values[:, :, : number + 1]
        masked = causal and bias is None and past is None
        if torch.compiler.is_exporting():  # for a CPU, which has no such limit
            return self.output(self.attend(query, key, value, bias, masked))  # type: ignore[no-any-return]
        chunks = zip(*(torch.split(whole, _MOST_SEQUENCES) for whole in (query, key, value)), strict=True)
        context = [self.attend(q, k, v, bias, masked) for q, k, v in chunks]
        return self.output(context[0] if len(context) == 1 else torch.cat(context))  # type: ignore[no-any-return]


class CrossAttention(Attention):
    """All sequences of a sentence lie on the query axis, so its keys and values are never repeated."""

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__(shape)
        # stored weights have these names
        self.asking = nn.Linear(shape.width, self.inner, bias=shape.bias)  # query
        self.known = nn.Linear(shape.memory_width, 2 * self.inner, bias=shape.bias)  # key, value

    def project_memory(self, states: Tensor) -> tuple[Tensor, Tensor]:
        key, value = self.by_head(self.known(states))
        return key, value

    def forward(self, states: Tensor, sequences: Placed, key_value: tuple[Tensor, Tensor], mask: Tensor | None) -> Tensor:
        (query,) = self.by_head(sequences.to_grid(self.asking(states)))  # (B, heads, most * T, head width)
        context = self.attend(query, *key_value, mask[:, None, None] if mask is not None else None)  # (B, most * T, inner)
        return self.output(sequences.from_grid(context, states.shape[1]))  # type: ignore[no-any-return]


_ACTIVATIONS = {"gelu": nn.GELU(), "gelu_new": nn.GELU("tanh"), "relu": nn.ReLU(), "silu": nn.SiLU()}


class FeedForward(nn.Module):
    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.activation, self.gated = _ACTIVATIONS[shape.activation], shape.gated
        self.input = nn.Linear(shape.width, (1 + shape.gated) * shape.feed_forward, bias=shape.bias)
        self.output = nn.Linear(shape.feed_forward, shape.width, bias=shape.bias)
        self.dropout = nn.Dropout(shape.dropout)

    def forward(self, states: Tensor) -> Tensor:
        hidden, *gate = self.input(states).chunk(1 + self.gated, dim=-1)  # (N, T, feed forward)
        hidden = self.activation(hidden) * gate[0] if gate else self.activation(hidden)
        return self.output(self.dropout(hidden))  # type: ignore[no-any-return]


class RelativeBias(nn.Module):
    """T5's relative position bias: one learned number per head and distance bucket, shared by all layers."""

    def __init__(self, buckets: int, farthest: int, heads: int) -> None:
        super().__init__()
        self.farthest, self.table = farthest, nn.Embedding(buckets, heads)
        nn.init.normal_(self.table.weight, std=0.02)

    def forward(self, steps: int, causal: bool) -> Tensor:
        """(1, heads, T, T); `causal`: minus infinity for later positions; otherwise half of the buckets are for them."""
        place = torch.arange(steps, device=self.table.weight.device)
        ahead = place - place[:, None]  # (T, T)
        away = (-ahead).clamp(min=0) if causal else ahead.abs()
        buckets = self.table.num_embeddings if causal else self.table.num_embeddings // 2
        alone = buckets // 2  # shorter distances have a bucket each; longer ones share the rest on a log scale
        slope = math.log(self.farthest / alone)
        shared = alone + ((away.clamp(min=1) / alone).log() / slope * (buckets - alone)).long()
        bucket = torch.where(away < alone, away, shared.clamp(max=buckets - 1))
        bias = self.table(bucket if causal else bucket + (ahead > 0) * buckets).permute(2, 0, 1)[None]
        return bias.masked_fill(ahead > 0, -math.inf) if causal else bias  # type: ignore[no-any-return]


class Norm(nn.LayerNorm):
    """Keeps the type of its input. Autocast would return float32, which every following layer would cast back; the sums inside
    are float32 either way.
    """

    def forward(self, states: Tensor) -> Tensor:
        if states.dtype == self.weight.dtype:  # entering the context takes longer than normalising one sentence
            return super().forward(states)
        with torch.autocast(states.device.type, enabled=False):
            weight, bias = self.weight.to(states.dtype), self.bias.to(states.dtype)
            return functional.layer_norm(states, self.normalized_shape, weight, bias, self.eps)


class RootMeanSquareNorm(nn.RMSNorm):
    """Keeps the type of its input, as `Norm` does."""

    def forward(self, states: Tensor) -> Tensor:
        with torch.autocast(states.device.type, enabled=False):
            return functional.rms_norm(states, self.normalized_shape, self.weight.to(states.dtype), self.eps)


def new_norm(shape: DecoderShape) -> Norm | RootMeanSquareNorm:
    return (Norm if shape.norm == "layer" else RootMeanSquareNorm)(shape.width, shape.epsilon)


def working_type(like: Tensor) -> torch.dtype:
    """Autocast's type if it is enabled, so that states between layers are not float32; else that of `like`."""
    kind = like.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else like.dtype


def sinusoidal_embeddings(positions: int, width: int) -> Tensor:
    """Sinusoidal position embeddings: (positions, width)."""
    place = torch.arange(positions, dtype=torch.float32)[:, None]
    angles = place * torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))  # (positions, width / 2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]
