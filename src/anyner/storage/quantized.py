"""Weights in the form in which they are stored: float32, bfloat16, or 8- and 4-bit rows with a scale per group of columns."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from anyner.inference.config import WeightFormat
from anyner.storage.weights import INT4, INT4_ZERO, INT8

_SMALLEST_TABLE = 4096
"""Smaller tables stay float32: quantizing them saves next to nothing."""
_COLUMNS = 32
"""Columns that share a scale. One scale per row doubles the error of the hidden states of BERT-like encoders: a few columns are
far larger than the others."""


def to_stored(weights: Mapping[str, Tensor], form: WeightFormat, embedding: str | None = None) -> dict[str, Tensor]:
    """`embedding` names the encoder's token embedding, half of a small encoder: int8 models store it in 4 bits per weight."""
    stored: dict[str, Tensor] = {}
    for name, original in weights.items():
        weight = original.detach().cpu().contiguous()
        if form == "int8" and weight.is_floating_point() and weight.dim() >= 2 and weight.numel() >= _SMALLEST_TABLE:
            if name == embedding and weight.shape[-1] % _COLUMNS == 0:
                stored[name + INT4.rows], stored[name + INT4.scale] = rounded_to_4_bits(weight.float())
            else:
                stored[name + INT8.rows], stored[name + INT8.scale] = _rounded(weight.float())
        elif form == "bfloat16" and weight.is_floating_point():
            stored[name] = weight.bfloat16()
        else:
            stored[name] = weight.clone()  # safetensors refuses tensors that share storage
    return stored


def _rounded(weight: Tensor) -> tuple[Tensor, Tensor]:
    """The rows (..., n), and a scale for every `_COLUMNS` columns, (..., n / 32), or (..., 1) if n is not a multiple."""
    groups = weight.shape[-1] // _COLUMNS if weight.shape[-1] % _COLUMNS == 0 else 1
    grouped = weight.reshape(*weight.shape[:-1], groups, -1)  # (..., groups, columns)
    scale = grouped.abs().amax(-1, keepdim=True).clamp_min(1e-12) / 127  # (..., groups, 1)
    return torch.round(grouped / scale).to(torch.int8).flatten(-2), scale[..., 0]


def rounded_to_4_bits(weight: Tensor) -> tuple[Tensor, Tensor]:
    """The rows (..., n / 2), two columns per byte, and a scale for every `_COLUMNS` columns, (..., n / 32).

    The number of largest magnitude in a group becomes -8, since there is no +8: half of the scales are negative.
    """
    grouped = weight.reshape(*weight.shape[:-1], -1, _COLUMNS)  # (..., groups, columns)
    largest = grouped.gather(-1, grouped.abs().argmax(-1, keepdim=True))  # (..., groups, 1)
    scale = -torch.where(largest.abs() < 1e-12, 1e-12, largest) / INT4_ZERO  # (..., groups, 1)
    numbers = torch.round(grouped / scale).clamp(-INT4_ZERO, INT4_ZERO - 1).flatten(-2)  # (..., n)
    halves = (numbers + INT4_ZERO).to(torch.uint8).reshape(*weight.shape[:-1], -1, 2)  # (..., n / 2, 2)
    return halves[..., 0] | halves[..., 1] << 4, scale[..., 0]
