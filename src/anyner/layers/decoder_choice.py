"""Which decoder a generative head gets, and what it starts from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from transformers import PreTrainedConfig, PreTrainedModel

from anyner.encoding.encoder import Encoder
from anyner.encoding.pretrained import load_pretrained
from anyner.errors import AnynerError
from anyner.layers.decoder import Decoder, DecoderShape
from anyner.layers.decoder_weights import shape_like_encoder, shape_of_pretrained, start_from_encoder, start_from_pretrained

DecoderKind = Literal["pretrained", "encoder", "new"]
"""The encoder's other half (BART and T5 kinds), the encoder's upper layers (BERT kinds), or nothing."""


@dataclass(frozen=True, slots=True)
class NewDecoder:
    """The sizes of a decoder of which nothing is taken over; what is None follows from the width."""

    width: int
    layers: int | None = None
    heads: int | None = None
    feed_forward: int | None = None
    input_norm: bool = False


def chosen_shape(
    kind: DecoderKind, new: NewDecoder, pretrained: PreTrainedConfig, *, dropout: float, memory_width: int, piece_width: int
) -> DecoderShape:
    """`memory_width` is that of what a new decoder reads; one that is taken over reads pieces of `piece_width`."""
    if kind == "pretrained":
        shape = shape_of_pretrained(pretrained, new.layers, dropout, piece_width)
        if shape is None:
            raise AnynerError("head.decoder is pretrained, but the encoder is not half of a BART, mBART or T5 model")
        return shape
    if kind == "encoder":
        like = shape_like_encoder(pretrained, new.layers or 2, dropout)
        if like is None:
            raise AnynerError(f"head.decoder is encoder, but a {pretrained.model_type} has no layers to take over; set it to new")
        return replace(like, input_norm=True)  # its layers are used to inputs of one scale
    heads = new.heads or max(1, new.width // 64)
    if new.width % heads:
        raise AnynerError(f"head.width {new.width} must be a multiple of head.heads {heads}")
    return DecoderShape(
        width=new.width,
        layers=new.layers or 2,
        heads=heads,
        head_width=new.width // heads,
        feed_forward=new.feed_forward or 2 * new.width,
        memory_width=memory_width,
        input_norm=new.input_norm,
        dropout=dropout,
    )


def begin(decoder: Decoder, kind: DecoderKind, encoder: Encoder) -> PreTrainedModel | None:
    """Takes over what there is to take over; the whole checkpoint comes back where its other half was taken."""
    if kind == "encoder":
        start_from_encoder(decoder, encoder.pretrained)
    if kind != "pretrained":
        return None
    model = load_pretrained(encoder.config.source)
    start_from_pretrained(decoder, model)
    return model
