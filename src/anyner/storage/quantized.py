"""Weights as they are to be stored: float32, bfloat16, or int8 rows with a scale for every few columns."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from anyner.inference.config import WeightFormat
from anyner.storage.weights import ROWS, SCALE

_SMALLEST_TABLE = 4096
"""Smaller tables stay float32: their rows save next to nothing."""
_COLUMNS = 32
"""Columns that share a scale. One for a whole row makes hidden states of BERT kinds wrong by twice as much: a few columns are far
larger than the others."""


def to_stored(weights: Mapping[str, Tensor], form: WeightFormat) -> dict[str, Tensor]:
    stored: dict[str, Tensor] = {}
    for name, original in weights.items():
        weight = original.detach().cpu().contiguous()
        if form == "int8" and weight.is_floating_point() and weight.dim() >= 2 and weight.numel() >= _SMALLEST_TABLE:
            stored[name + ROWS], stored[name + SCALE] = _rounded(weight.float())
        elif form == "bfloat16" and weight.is_floating_point():
            stored[name] = weight.bfloat16()
        else:
            stored[name] = weight.clone()  # safetensors refuses tensors that share storage
    return stored


def _rounded(weight: Tensor) -> tuple[Tensor, Tensor]:
    """The rows (..., n), and a scale for every `_COLUMNS` of them, (..., n / 32), or (..., 1) where n is no multiple."""
    groups = weight.shape[-1] // _COLUMNS if weight.shape[-1] % _COLUMNS == 0 else 1
    grouped = weight.reshape(*weight.shape[:-1], groups, -1)  # (..., groups, columns)
    scale = grouped.abs().amax(-1, keepdim=True).clamp_min(1e-12) / 127  # (..., groups, 1)
    return torch.round(grouped / scale).to(torch.int8).flatten(-2), scale[..., 0]
