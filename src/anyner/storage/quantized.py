"""Weights as they are stored: float32, bfloat16, or int8 rows with a scale for every few columns."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from anyner.errors import AnynerError
from anyner.inference.config import WeightFormat

_ROWS, _SCALE = ".int8_rows", ".int8_scale"
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
            stored[name + _ROWS], stored[name + _SCALE] = _rounded(weight.float())
        elif form == "bfloat16" and weight.is_floating_point():
            stored[name] = weight.bfloat16()
        else:
            stored[name] = weight.clone()  # safetensors refuses tensors that share storage
    return stored


def whole_shapes(stored: Mapping[str, tuple[int, ...]], where: str) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights that `from_stored` would give, from those of the tensors in the file."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in stored.items():
        if name.endswith(_ROWS):
            whole = name.removesuffix(_ROWS)
            scale = stored.get(whole + _SCALE)
            if scale is None or whole in stored:
                raise AnynerError(f"{where}: the scale of {whole} is missing, or it is stored twice")
            if not scale or scale[:-1] != shape[:-1] or not math.prod(scale) or shape[-1] % scale[-1]:
                raise AnynerError(f"{where}: the scale of {whole} does not fit it")
            shapes[whole] = shape
        elif not name.endswith(_SCALE):
            shapes[name] = shape
    return shapes


def from_stored(stored: Mapping[str, Tensor], where: str) -> dict[str, Tensor]:
    """The weights in float32, whatever they were stored as."""
    shapes = whole_shapes({name: tuple(tensor.shape) for name, tensor in stored.items()}, where)
    return {name: _whole(stored, name) for name in shapes}


def _whole(stored: Mapping[str, Tensor], name: str) -> Tensor:
    if (rows := stored.get(name + _ROWS)) is not None:
        scale = stored[name + _SCALE]
        return rows.float() * scale.float().repeat_interleave(rows.shape[-1] // scale.shape[-1], -1)
    return stored[name].float() if stored[name].is_floating_point() else stored[name]


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _rounded(weight: Tensor) -> tuple[Tensor, Tensor]:
    """The rows (..., n), and a scale for every `_COLUMNS` of them, (..., n / 32), or (..., 1) where n is no multiple."""
    groups = weight.shape[-1] // _COLUMNS if weight.shape[-1] % _COLUMNS == 0 else 1
    grouped = weight.reshape(*weight.shape[:-1], groups, -1)  # (..., groups, columns)
    scale = grouped.abs().amax(-1, keepdim=True).clamp_min(1e-12) / 127  # (..., groups, 1)
    return torch.round(grouped / scale).to(torch.int8).flatten(-2), scale[..., 0]
