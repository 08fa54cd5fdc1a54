"""Which decoder a generative head gets, and the weights it starts from: the decoder half of a checkpoint, or encoder layers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel

from anyner.encoding.encoder import Encoder
from anyner.encoding.pretrained import load_pretrained
from anyner.errors import AnynerError
from anyner.layers.decoder import Activation, Decoder, DecoderShape, Layer, RelativePositions

_BERT_SHAPED = ("bert", "roberta", "xlm-roberta", "electra", "camembert", "mpnet")
DecoderKind = Literal["pretrained", "encoder", "new"]
"""The other half of the encoder's checkpoint (BART and T5 kinds), the encoder's upper layers (BERT kinds), or from scratch."""


@dataclass(frozen=True, slots=True)
class NewDecoder:
    """The sizes of a decoder from scratch, which has an attention head for 64 of its width; None: 2 layers."""

    width: int
    layers: int | None = None
    input_norm: bool = False


def chosen_shape(
    kind: DecoderKind, new: NewDecoder, pretrained: PreTrainedConfig, *, dropout: float, memory_width: int, piece_width: int
) -> DecoderShape:
    """`memory_width` is that of what a new decoder reads; a pretrained one reads pieces of `piece_width`."""
    if kind == "pretrained":
        shape = shape_of_pretrained(pretrained, new.layers, dropout, piece_width)
        if shape is None:
            raise AnynerError("head.decoder is pretrained, but the encoder is not half of a BART, mBART or T5 model")
        return shape
    if kind == "encoder":
        like = shape_like_encoder(pretrained, new.layers or 2, dropout)
        if like is None:
            raise AnynerError(
                f"head.decoder is encoder, but a {pretrained.model_type} has no layers to start from; set it to new"
            )
        return replace(like, input_norm=True)  # its layers are used to inputs of one scale
    heads = max(1, new.width // 64)
    if new.width % heads:
        raise AnynerError(f"head.width {new.width} must be a multiple of its {heads} attention heads: take a multiple of 64")
    return DecoderShape(
        width=new.width,
        layers=new.layers or 2,
        heads=heads,
        head_width=new.width // heads,
        feed_forward=2 * new.width,
        memory_width=memory_width,
        input_norm=new.input_norm,
        dropout=dropout,
    )


def load_decoder(decoder: Decoder, kind: DecoderKind, encoder: Encoder) -> PreTrainedModel | None:
    """Loads the weights that the decoder starts from; returns the whole checkpoint where these are its other half."""
    if kind == "encoder":
        start_from_encoder(decoder, encoder.pretrained)
    if kind != "pretrained":
        return None
    model = load_pretrained(encoder.config.source)
    start_from_pretrained(decoder, model)
    return model


def shape_of_pretrained(config: PreTrainedConfig, layers: int | None, dropout: float, memory_width: int) -> DecoderShape | None:
    """That of a BART, mBART or T5 checkpoint's decoder, or of its first `layers`; None for other checkpoints."""
    shaped = {"bart": _bart_shape, "mbart": _bart_shape, "t5": _t5_shape}.get(config.model_type)
    shape = shaped(config, dropout, memory_width) if shaped is not None else None
    if shape is None or layers is None:
        return shape
    if layers > shape.layers:
        raise AnynerError(f"a decoder of {layers} layers cannot start from the {shape.layers} of its checkpoint")
    return replace(shape, layers=layers)


def _bart_shape(config: PreTrainedConfig, dropout: float, memory_width: int) -> DecoderShape | None:
    if config.activation_function not in get_args(Activation):
        return None
    norm_first = config.model_type == "mbart"
    return DecoderShape(
        width=config.d_model,
        layers=config.decoder_layers,
        heads=config.decoder_attention_heads,
        head_width=config.d_model // config.decoder_attention_heads,
        feed_forward=config.decoder_ffn_dim,
        memory_width=memory_width,
        norm_first=norm_first,
        input_norm=True,
        output_norm=norm_first,
        activation=config.activation_function,
        dropout=dropout,
    )


def _t5_shape(config: PreTrainedConfig, dropout: float, memory_width: int) -> DecoderShape | None:
    if config.dense_act_fn not in get_args(Activation):
        return None
    return DecoderShape(
        width=config.d_model,
        layers=config.num_decoder_layers,
        heads=config.num_heads,
        head_width=config.d_kv,
        feed_forward=config.d_ff,
        memory_width=memory_width,
        norm="rms",
        activation=config.dense_act_fn,
        gated=config.is_gated_act,
        bias=False,
        scaled=False,
        relative=RelativePositions(config.relative_attention_num_buckets, config.relative_attention_max_distance),
        epsilon=config.layer_norm_epsilon,
        dropout=dropout,
    )


def shape_like_encoder(config: PreTrainedConfig, layers: int, dropout: float) -> DecoderShape | None:
    """That of a decoder whose layers are those of a BERT-shaped encoder with cross-attention; None for other encoders."""
    if config.model_type not in _BERT_SHAPED or config.hidden_act not in get_args(Activation):
        return None
    return DecoderShape(
        width=config.hidden_size,
        layers=layers,
        heads=config.num_attention_heads,
        head_width=config.hidden_size // config.num_attention_heads,
        feed_forward=config.intermediate_size,
        memory_width=config.hidden_size,
        norm_first=False,
        output_norm=False,
        activation=config.hidden_act,
        epsilon=config.layer_norm_eps,
        dropout=dropout,
    )


def start_from_pretrained(decoder: Decoder, model: PreTrainedModel) -> None:
    """Weights of a whole BART, mBART or T5. Keys and values of a memory of another width than the checkpoint's stay new."""
    source = model.get_decoder()
    if model.config.model_type == "t5":
        layers, input_norm, output_norm = [_t5_layer(block.layer) for block in source.block], None, source.final_layer_norm
        assert decoder.relative is not None
        decoder.relative.table.load_state_dict(source.block[0].layer[0].SelfAttention.relative_attention_bias.state_dict())
    else:
        layers, input_norm = [_bart_layer(layer) for layer in source.layers], source.layernorm_embedding
        output_norm = getattr(source, "layer_norm", None)  # BART has none
    for layer, weights in zip(decoder.each_layer, layers[: len(decoder.layers)], strict=True):
        _start_layer(layer, weights)
    for norm, norm_weights in ((decoder.input_norm, input_norm), (decoder.output_norm, output_norm)):
        norm.load_state_dict(norm_weights.state_dict() if norm_weights is not None else {})


def start_from_encoder(decoder: Decoder, pretrained: PreTrainedModel) -> None:
    """Weights of a BERT-shaped encoder's last layers. Cross-attention begins as self-attention of the same layer."""
    source = pretrained.base_model.encoder.layer
    if len(decoder.layers) > len(source):
        raise AnynerError(f"a decoder of {len(decoder.layers)} layers cannot start from the {len(source)} of its encoder")
    to_weights = _mpnet_layer if pretrained.config.model_type == "mpnet" else _bert_layer
    for layer, weights in zip(decoder.each_layer, source[len(source) - len(decoder.layers) :], strict=True):
        _start_layer(layer, to_weights(weights))


def input_scale(config: PreTrainedConfig) -> float:
    """What token vectors are multiplied by before they enter the decoder of a checkpoint."""
    return math.sqrt(config.d_model) if getattr(config, "scale_embedding", False) else 1.0


def position_rows(model: PreTrainedModel) -> Tensor | None:
    """What a checkpoint's decoder adds at positions 0, 1 …: (P, w), a copy; None for T5, whose positions are relative."""
    table = getattr(model.get_decoder(), "embed_positions", None)
    return table.weight.detach()[getattr(table, "offset", 0) :].clone() if table is not None else None


@dataclass(frozen=True, slots=True)
class _Attention:
    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    output: nn.Linear
    norm: nn.Module


@dataclass(frozen=True, slots=True)
class _Weights:
    """The modules of a pretrained layer, under the same names for all kinds."""

    among: _Attention
    to_memory: _Attention
    feed_input: tuple[nn.Linear, ...]
    feed_output: nn.Linear
    feed_norm: nn.Module


def _bart_layer(layer: Any) -> _Weights:
    among, to_memory = (
        _Attention(part.q_proj, part.k_proj, part.v_proj, part.out_proj, norm)
        for part, norm in ((layer.self_attn, layer.self_attn_layer_norm), (layer.encoder_attn, layer.encoder_attn_layer_norm))
    )
    return _Weights(among, to_memory, (layer.fc1,), layer.fc2, layer.final_layer_norm)


def _t5_layer(parts: Any) -> _Weights:
    among, to_memory = (
        _Attention(part.q, part.k, part.v, part.o, norm)
        for part, norm in ((parts[0].SelfAttention, parts[0].layer_norm), (parts[1].EncDecAttention, parts[1].layer_norm))
    )
    feed = parts[2].DenseReluDense
    return _Weights(
        among, to_memory, (feed.wi_0, feed.wi_1) if hasattr(feed, "wi_0") else (feed.wi,), feed.wo, parts[2].layer_norm
    )


def _bert_layer(layer: Any) -> _Weights:
    seen, told = layer.attention.self, layer.attention.output
    attention = _Attention(seen.query, seen.key, seen.value, told.dense, told.LayerNorm)
    return _Weights(attention, attention, (layer.intermediate.dense,), layer.output.dense, layer.output.LayerNorm)


def _mpnet_layer(layer: Any) -> _Weights:
    seen = layer.attention.attn
    attention = _Attention(seen.q, seen.k, seen.v, seen.o, layer.attention.LayerNorm)
    return _Weights(attention, attention, (layer.intermediate.dense,), layer.output.dense, layer.output.LayerNorm)


def _start_layer(layer: Layer, weights: _Weights) -> None:
    among, to_memory = weights.among, weights.to_memory
    _copy(layer.among.joint, among.query, among.key, among.value)
    _copy(layer.among.output, among.output)
    _copy(layer.to_memory.asking, to_memory.query)
    if layer.to_memory.known.in_features == to_memory.key.in_features:
        _copy(layer.to_memory.known, to_memory.key, to_memory.value)
    _copy(layer.to_memory.output, to_memory.output)
    _copy(layer.feed.input, *weights.feed_input)
    _copy(layer.feed.output, weights.feed_output)
    layer.among_norm.load_state_dict(among.norm.state_dict())
    layer.memory_norm.load_state_dict(to_memory.norm.state_dict())
    layer.feed_norm.load_state_dict(weights.feed_norm.state_dict())


@torch.no_grad()
def _copy(target: nn.Linear, *sources: nn.Linear) -> None:
    """The rows of all sources below each other."""
    target.weight.copy_(torch.cat([source.weight for source in sources]))
    if target.bias is not None:
        target.bias.copy_(torch.cat([source.bias for source in sources]))
