"""The losses of both stages (equations 11 to 16), one number an example; in float32, and in logarithms where they need one."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

_LEAST = 1e-6
"""A power below 1 has no slope at 0."""


def soft_weights(iou: Tensor, positive: Tensor, softness: float) -> Tensor:
    """Equation 11: an example weighs the less, the more its overlap with an entity speaks for the other side: (N,)."""
    return torch.where(positive, iou, 1 - iou) ** softness


def binary_focal(logit: Tensor, positive: Tensor, focus: float) -> Tensor:
    """Equation 12 without its weight: (N,)."""
    right = torch.where(positive, logit, -logit)  # (N,) logit of the true answer
    return -(torch.sigmoid(-right).clamp(min=_LEAST) ** focus) * functional.logsigmoid(right)


def class_focal(logits: Tensor, target: Tensor, focus: float) -> Tensor:
    """Cross-entropy (focus 0, equation 16) or its focal form, without the weight; logits (N, C): (N,)."""
    loss = functional.cross_entropy(logits, target, reduction="none")  # (N,)
    return loss * (1 - torch.exp(-loss)).clamp(min=_LEAST) ** focus if focus else loss


def moving(offsets: Tensor, wanted: Tensor) -> Tensor:
    """Equation 14: smooth L1 of both offsets (N, 2), summed: (N,)."""
    return functional.smooth_l1_loss(offsets, wanted, reduction="none").sum(1)


def overlapping(first: Tensor, end: Tensor, wanted_first: Tensor, wanted_end: Tensor) -> Tensor:
    """Equation 15 on continuous, half-open spans (N,): 0 where they are equal, at most 2 for spans however far apart.

    A span whose ends have passed each other counts as empty, at its first word.
    """
    end = torch.maximum(end, first)
    shared = torch.minimum(end, wanted_end) - torch.maximum(first, wanted_first)
    around = torch.maximum(end, wanted_end) - torch.minimum(first, wanted_first)
    return 1 - shared / around
