"""Spans as points: what is noised and denoised. Float32, whatever the autocast."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

StateKind = Literal["width", "boundaries"]


def clean_state(first: Tensor, last: Tensor, words: Tensor, kind: StateKind, scale: float) -> Tensor:
    """First and last word (inclusive) in sentences of so many words as two numbers in [-scale, scale]: (…, 2)."""
    longest = (words - 1).clamp(min=1).float()  # a sentence of one word has one span, at 0
    second = last - first if kind == "width" else last
    return torch.stack([first, second], dim=-1) * (2 * scale / longest)[..., None] - scale


def spans_at(state: Tensor, words: Tensor, kind: StateKind, scale: float) -> tuple[Tensor, Tensor]:
    """The nearest span of each state (…, 2), whatever its numbers: first and last word, first <= last."""
    left, second = ((state.float().clamp(-scale, scale) + scale) / (2 * scale)).unbind(-1)
    if kind == "width":
        right = (left + second).clamp(max=1)
    else:
        left, right = torch.minimum(left, second), torch.maximum(left, second)
    first, last = (torch.stack([left, right]) * (words - 1)).round().long()
    return first, last
