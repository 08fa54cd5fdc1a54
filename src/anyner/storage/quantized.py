"""Weights as they are stored: float32, bfloat16, or int8 rows with one scale a row."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from anyner.errors import AnynerError
from anyner.inference.config import WeightFormat

_ROWS, _SCALE = ".int8_rows", ".int8_scale"
_SMALLEST_TABLE = 4096
"""Smaller tables stay float32: their rows save next to nothing."""


def to_stored(weights: Mapping[str, Tensor], form: WeightFormat) -> dict[str, Tensor]:
    stored: dict[str, Tensor] = {}
    for name, original in weights.items():
        weight = original.detach().cpu().contiguous()
        if form == "int8" and weight.is_floating_point() and weight.dim() >= 2 and weight.numel() >= _SMALLEST_TABLE:
            scale = weight.float().abs().amax(-1, keepdim=True).clamp_min(1e-12) / 127  # (..., 1)
            stored[name + _ROWS] = torch.round(weight.float() / scale).to(torch.int8)
            stored[name + _SCALE] = scale
        elif form == "bfloat16" and weight.is_floating_point():
            stored[name] = weight.bfloat16()
        else:
            stored[name] = weight.clone()  # safetensors refuses tensors that share storage
    return stored


def from_stored(stored: Mapping[str, Tensor], where: str) -> dict[str, Tensor]:
    """The weights in float32, whatever they were stored as."""
    weights: dict[str, Tensor] = {}
    for name, tensor in stored.items():
        if name.endswith(_ROWS):
            whole = name.removesuffix(_ROWS)
            if whole + _SCALE not in stored:
                raise AnynerError(f"{where}: the scale of {whole} is missing")
            weights[whole] = tensor.float() * stored[whole + _SCALE]
        elif not name.endswith(_SCALE):
            weights[name] = tensor.float() if tensor.is_floating_point() else tensor
    return weights
