"""Tables of positions that start as waves."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def waves(rows: int, width: int) -> Tensor:
    """Sines and cosines of many lengths, so that near rows look alike: (rows, width)."""
    place = torch.arange(rows, dtype=torch.float32)[:, None]
    angles = place * torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))  # (rows, width / 2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :width]
