"""What writing in pieces can start from: the checkpoint's own head for masked words."""

from __future__ import annotations

import torch
from torch import nn
from transformers import AutoModelForMaskedLM

from anyner.architectures.nag_ner.spaces import PiecesOut
from anyner.encoding.encoder import Encoder
from anyner.encoding.pretrained import load_with_missing
from anyner.errors import AnynerError

_PLACES = (
    ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm"),  # BERT, DeBERTa
    ("lm_head.dense", "lm_head.layer_norm"),  # RoBERTa, MPNet
    ("generator_predictions.dense", "generator_predictions.LayerNorm"),  # ELECTRA
)


@torch.no_grad()
def begin_from_masked_words(out: PiecesOut, encoder: Encoder) -> None:
    """Takes over the layer and the norm between the states of a masked word and the comparison with all pieces."""
    model, missing = load_with_missing(encoder.config.source, AutoModelForMaskedLM)
    for dense, norm in _PLACES:
        try:
            layer, normalised = model.get_submodule(dense), model.get_submodule(norm)
        except AttributeError:
            continue
        assert isinstance(layer, nn.Linear) and isinstance(normalised, nn.LayerNorm)
        if f"{dense}.weight" in missing:
            raise AnynerError("head.mlm_head: the checkpoint has no head for masked words; what `anyner adapt` writes has none")
        if layer.weight.shape != out.transform.weight.shape:
            raise AnynerError(
                f"head.mlm_head: the checkpoint's head goes from {layer.in_features} to {layer.out_features}, "
                f"but the decoder has width {out.transform.in_features}; set head.width"
            )
        for own, theirs in ((out.transform, layer), (out.norm, normalised)):
            own.load_state_dict(theirs.state_dict())
        return
    raise AnynerError(f"head.mlm_head: a {model.config.model_type} has no head for masked words that could be taken over")
