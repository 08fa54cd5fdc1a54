"""Shape and initial weights of a generative head's decoder: from a checkpoint's decoder, from encoder layers, or from scratch."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel

from anyner.encoding.encoder import Encoder
from anyner.encoding.pretrained import load_pretrained
from anyner.errors import AnynerError
from anyner.layers.decoder import Activation, Decoder, DecoderShape, Layer

_BERT_SHAPED = ("bert", "roberta", "xlm-roberta", "electra", "camembert", "mpnet")
DecoderKind = Literal["pretrained", "encoder", "new"]
"""From the decoder of the encoder's checkpoint (BART, mBART, T5), the encoder's upper layers (BERT-like), or from scratch."""


def chosen_shape(
    kind: DecoderKind, pretrained: PreTrainedConfig, width: int, layers: int | None, dropout: float, *, reads: int, norm: bool
) -> DecoderShape:
    """`layers` defaults to all layers of a pretrained decoder, else to 2.

    Only a decoder from scratch uses `width`, `reads` (the width of the vectors it reads) and `norm` (an input norm).
    """
    if kind == "pretrained":
        return shape_of_pretrained(pretrained, layers, dropout)
    if kind == "encoder":
        return shape_like_encoder(pretrained, layers or 2, dropout)
    heads = max(1, width // 64)
    if width % heads:
        raise AnynerError(f"head.width: expected a multiple of its {heads} attention heads, got {width}; take a multiple of 64")
    return DecoderShape(width, layers or 2, heads, width // heads, 2 * width, reads, input_norm=norm, dropout=dropout)


def shape_of_pretrained(config: PreTrainedConfig, layers: int | None, dropout: float) -> DecoderShape:
    """The shape of a BART, mBART or T5 checkpoint's decoder, or of its first `layers`."""
    own: dict[str, Any]
    if config.model_type in ("bart", "mbart"):
        there, heads = config.decoder_layers, config.decoder_attention_heads
        sizes = (heads, config.d_model // heads, config.decoder_ffn_dim)
        norm_first = config.model_type == "mbart"
        own = {"activation": config.activation_function, "norm_first": norm_first, "output_norm": norm_first, "input_norm": True}
    elif config.model_type == "t5":
        there, sizes = config.num_decoder_layers, (config.num_heads, config.d_kv, config.d_ff)
        relative = config.relative_attention_num_buckets, config.relative_attention_max_distance
        own = {"activation": config.dense_act_fn, "gated": config.is_gated_act, "epsilon": config.layer_norm_epsilon}
        own |= {"norm": "rms", "bias": False, "scaled": False, "relative": relative}
    else:
        raise AnynerError("head.decoder: pretrained needs the encoder of a BART, mBART or T5 model; set it to new")
    _check_activation(own["activation"], "checkpoint")
    _check_layers(layers or there, there, "checkpoint")
    return DecoderShape(config.d_model, layers or there, *sizes, config.d_model, **own, dropout=dropout)


def shape_like_encoder(config: PreTrainedConfig, layers: int, dropout: float) -> DecoderShape:
    """The shape of a decoder that is a BERT-like encoder's layers with cross-attention."""
    if config.model_type not in _BERT_SHAPED:
        raise AnynerError(f"head.decoder: cannot start from the layers of a {config.model_type} encoder; set it to new")
    _check_activation(config.hidden_act, "encoder")
    _check_layers(layers, config.num_hidden_layers, "encoder")
    width, heads = config.hidden_size, config.num_attention_heads
    own = {"activation": config.hidden_act, "epsilon": config.layer_norm_eps, "norm_first": False, "output_norm": False}
    own["input_norm"] = True  # the encoder's layers expect normalised inputs
    return DecoderShape(width, layers, heads, width // heads, config.intermediate_size, width, **own, dropout=dropout)


def _check_activation(name: str, where: str) -> None:
    if name not in get_args(Activation):
        known = ", ".join(get_args(Activation))
        raise AnynerError(f"head.decoder: expected one of the activations {known} in the {where}, got {name}; set it to new")


def _check_layers(layers: int, there: int, where: str) -> None:
    if layers > there:
        raise AnynerError(f"head.layers: expected at most {there}, as many as the {where} has, got {layers}")


def load_decoder(decoder: Decoder, kind: DecoderKind, encoder: Encoder) -> PreTrainedModel | None:
    """Loads the decoder's initial weights; returns the whole checkpoint if they come from its decoder."""
    if kind == "encoder":
        start_from_encoder(decoder, encoder.pretrained)
    if kind != "pretrained":
        return None
    model = load_pretrained(encoder.config.source)
    start_from_pretrained(decoder, model)
    return model


class _Names(NamedTuple):
    """The names of the modules in a checkpoint's layer."""

    self_attention: str
    cross_attention: str
    query: str
    key: str
    value: str
    output: str
    norms: tuple[str, str, str]  # of self-attention, cross-attention and feed-forward
    feed_input: tuple[str, ...]
    feed_output: str


_BART = _Names(
    "self_attn", "encoder_attn", "q_proj", "k_proj", "v_proj", "out_proj",
    ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"), ("fc1",), "fc2",
)  # fmt: skip
_T5 = _Names(
    "layer.0.SelfAttention", "layer.1.EncDecAttention", "q", "k", "v", "o",
    ("layer.0.layer_norm", "layer.1.layer_norm", "layer.2.layer_norm"),
    ("layer.2.DenseReluDense.wi",), "layer.2.DenseReluDense.wo",
)  # fmt: skip
_T5_GATED = _T5._replace(feed_input=("layer.2.DenseReluDense.wi_0", "layer.2.DenseReluDense.wi_1"))
_BERT = _Names(
    "attention", "attention", "self.query", "self.key", "self.value", "output.dense",
    ("attention.output.LayerNorm", "attention.output.LayerNorm", "output.LayerNorm"), ("intermediate.dense",), "output.dense",
)  # fmt: skip
_MPNET = _Names(
    "attention.attn", "attention.attn", "q", "k", "v", "o",
    ("attention.LayerNorm", "attention.LayerNorm", "output.LayerNorm"), ("intermediate.dense",), "output.dense",
)  # fmt: skip


def start_from_pretrained(decoder: Decoder, model: PreTrainedModel) -> None:
    """Copies the decoder weights of a BART, mBART or T5 model."""
    source: Any = model.get_decoder()
    if model.config.model_type == "t5":
        layers, names = source.block, _T5_GATED if decoder.shape.gated else _T5
        _copy(decoder.output_norm, source.final_layer_norm)
        assert decoder.relative is not None
        _copy(decoder.relative.table, source.block[0].layer[0].SelfAttention.relative_attention_bias)
    else:
        layers, names = source.layers, _BART
        _copy(decoder.input_norm, source.layernorm_embedding)
        _copy(decoder.output_norm, getattr(source, "layer_norm", None))  # BART has none
    for layer, own in zip(decoder.each_layer, layers, strict=False):
        _start_layer(layer, own, names)


def start_from_encoder(decoder: Decoder, pretrained: PreTrainedModel) -> None:
    """Copies a BERT-like encoder's last layers. Cross-attention starts as the self-attention of the same layer."""
    source: Any = pretrained.base_model.encoder.layer
    for layer, own in zip(decoder.each_layer, source[len(source) - len(decoder.layers) :], strict=True):
        _start_layer(layer, own, _MPNET if pretrained.config.model_type == "mpnet" else _BERT)


def _start_layer(layer: Layer, source: nn.Module, names: _Names) -> None:
    self_attention, cross_attention = names.self_attention, names.cross_attention
    sources: dict[nn.Module, tuple[str, ...]] = {
        layer.among.joint: (
            f"{self_attention}.{names.query}",
            f"{self_attention}.{names.key}",
            f"{self_attention}.{names.value}",
        ),
        layer.among.output: (f"{self_attention}.{names.output}",),
        layer.to_memory.asking: (f"{cross_attention}.{names.query}",),
        layer.to_memory.known: (f"{cross_attention}.{names.key}", f"{cross_attention}.{names.value}"),
        layer.to_memory.output: (f"{cross_attention}.{names.output}",),
        layer.feed.input: names.feed_input,
        layer.feed.output: (names.feed_output,),
        **{norm: (name,) for norm, name in zip((layer.among_norm, layer.memory_norm, layer.feed_norm), names.norms, strict=True)},
    }
    for target, own in sources.items():
        _copy(target, *map(source.get_submodule, own))


@torch.no_grad()
def _copy(target: nn.Module, *sources: nn.Module | None) -> None:
    """Fills each parameter of the target with the rows of all sources, concatenated."""
    for name, parameter in target.named_parameters():
        parameter.copy_(torch.cat([source.get_parameter(name) for source in sources if source is not None]))


def input_scale(config: PreTrainedConfig) -> float:
    """The factor that a checkpoint applies to token embeddings before its decoder."""
    return math.sqrt(config.d_model) if getattr(config, "scale_embedding", False) else 1.0


def position_rows(model: PreTrainedModel) -> Tensor | None:
    """A copy of the position embeddings of a checkpoint's decoder: (P, w); None for T5, which has relative positions."""
    table = getattr(model.get_decoder(), "embed_positions", None)
    return table.weight.detach()[getattr(table, "offset", 0) :].clone() if table is not None else None
