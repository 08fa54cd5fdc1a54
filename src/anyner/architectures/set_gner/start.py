"""What a generator starts from: names of the labels, a pretrained decoder, or layers of the encoder."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from anyner.architectures.set_gner.generator import Generator
from anyner.encoding.encoder import Encoder
from anyner.layers.decoder_choice import begin
from anyner.layers.decoder_weights import position_rows
from anyner.text.windows import PieceCutter


@torch.no_grad()
def begin_from_labels(generator: Generator, labels: Sequence[str], encoder: Encoder, cut: PieceCutter) -> None:
    """Each label starts as the mean of the embeddings of its name's pieces, where these have the decoder's width.

    A new decoder works with vectors of spread 1, so there the mean is brought to it.
    """
    tokens = encoder.tables.tokens.weight  # (V, e)
    if tokens.shape[1] != generator.width:
        return
    names = [label.replace("_", " ").replace("-", " ").lower() for label in labels]
    for number, name in enumerate([*names, "null", "fragment"]):
        pieces = [piece for own in cut(name.split() or [name]) for piece in own]
        if pieces:
            mean = tokens[torch.tensor(pieces, device=tokens.device)].mean(0)
            generator.symbols[number] = mean if generator.native else (mean - mean.mean()) / mean.std().clamp(min=1e-6)


@torch.no_grad()
def begin_from_pretrained(generator: Generator, encoder: Encoder) -> None:
    assert generator.settings.decoder is not None
    model = begin(generator.decoder, generator.settings.decoder, encoder)
    if model is not None:
        rows = position_rows(model)
        if rows is None:  # T5 kinds have relative positions: what is added to them starts as nothing
            generator.positions.table.zero_()
        else:
            generator.positions.table.copy_(rows[: len(generator.positions.table)])
