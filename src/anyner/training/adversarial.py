"""Embeddings moved to where the loss of a batch rises most, so that it is learned from there once more.

Few examples are soon known by heart. What is learned with the words a little off must come from more than these very words. The
way is that of Miyato, Dai and Goodfellow, "Adversarial training methods for semi-supervised text classification" (ICLR 2017),
on the encoder's table instead of the sequences' own embeddings.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


@contextmanager
def moved_uphill(table: Tensor, gradient: Tensor | None, size: float) -> Iterator[None]:
    """The table (V, d) has moved along the gradient inside, and is exactly as before behind.

    All its rows together move by `size` times the length of a mean one, those most that the loss depends on most. Without a
    gradient nothing moves.
    """
    before = table.detach().clone()  # to subtract again what was added would not give back the last bit
    length = before.norm() * len(before) ** -0.5
    try:
        if gradient is not None:
            with torch.no_grad():
                table += size * length * _direction(gradient)
        yield
    finally:
        with torch.no_grad():
            table.copy_(before)


def _direction(gradient: Tensor) -> Tensor:
    """Of length 1, or 0 where there is none: squares of tiny numbers would vanish, so the largest becomes 1 first."""
    tiny = torch.finfo(gradient.dtype).tiny
    scaled = gradient / gradient.abs().max().clamp_min(tiny)
    length: Tensor = scaled.norm()
    return scaled / length.clamp_min(tiny)
