"""Pieces -> words without ever building a words x pieces tensor: gathers, prefix sums and a sparse table of maxima."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from anyner.encoding.config import Pooling


def take(rows: Tensor, index: Tensor) -> Tensor:
    """Rows (B, S, d) at index (B, M) -> (B, M, d). Copies whole rows, where `gather` would copy single numbers."""
    flat = index + torch.arange(rows.shape[0], device=rows.device)[:, None] * rows.shape[1]  # (B, M)
    return rows.flatten(0, 1).index_select(0, flat.flatten()).view(*index.shape, rows.shape[-1])


def pool(pieces: Tensor, first: Tensor, last: Tensor, how: Pooling, longest: int) -> Tensor:
    """One vector for each range `first..last` (inclusive) of pieces (B, S, d), at most `longest` long: (B, M, d)."""
    if how == "first":
        return take(pieces, first)
    if how == "first_last_max":
        return torch.maximum(take(pieces, first), take(pieces, last))
    if how == "first_last_mean":
        return (take(pieces, first) + take(pieces, last)) / 2
    if how == "mean":
        return stretch_mean(pieces, first, last)
    return stretch_max(pieces, first, last, longest)


def stretch_mean(rows: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """Mean over first..last by prefix sums in float32: two gathers and a subtraction for any length."""
    sums = rows.float().cumsum(1)  # (B, S, d)
    sums = torch.nn.functional.pad(sums, (0, 0, 1, 0))  # (B, S + 1, d)
    total = take(sums, last + 1) - take(sums, first)  # (B, M, d)
    return (total / (last - first + 1)[..., None]).to(rows.dtype)


def stretch_max(rows: Tensor, first: Tensor, last: Tensor, longest: int) -> Tensor:
    """Maximum over first..last, at most `longest` rows, by a sparse table: a range is the maximum of two entries."""
    table = maxima(rows, longest)  # (B, K, S, d)
    level, second = entries(first, last)  # (B, M) each
    flat = table.flatten(1, 2)  # (B, K * S, d)
    base = level * rows.shape[1]
    return torch.maximum(take(flat, base + first), take(flat, base + second))


def maxima(rows: Tensor, longest: int) -> Tensor:
    """The sparse table of rows (B, S, d), for ranges of up to `longest`: level k has maxima over 2^k rows: (B, K, S, d)."""
    levels = [rows]
    for power in range(max(longest, 1).bit_length() - 1):
        below, step = levels[-1], 1 << power
        later = torch.nn.functional.pad(below, (0, 0, 0, step), value=-math.inf)[:, step:]  # shifted by `step` rows
        levels.append(torch.maximum(below, later))
    return torch.stack(levels, dim=1)


def entries(first: Tensor, last: Tensor) -> tuple[Tensor, Tensor]:
    """The table's level for each range, and the start of its second entry; the first starts at `first`."""
    level = torch.log2((last - first + 1).float()).floor().long()
    return level, last + 1 - 2**level
