"""Spans as states, as in `schedule.py`, and one denoising step, in tensors (sections 3.1 and 3.3 of the paper)."""

from __future__ import annotations

import torch
from torch import Tensor

from anyner.architectures.diffusion_ner.schedule import ddim_weights


def to_states(first: Tensor, last: Tensor, words: Tensor) -> Tensor:
    """First word and width of spans in sentences of `words` words, as two numbers in [-1, 1]: (…, 2)."""
    longest = (words - 1).clamp(min=1).float()  # a sentence of one word has one span, at 0
    return torch.stack([first, last - first], dim=-1) * (2 / longest)[..., None] - 1


def to_spans(states: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
    """First and last word (inclusive) of the span nearest to each state (…, 2); every state has one."""
    left, width = ((states.clamp(-1, 1) + 1) / 2).unbind(-1)
    first, last = (torch.stack([left, (left + width).clamp(max=1)]) * (words - 1)).round().long()
    return first, last


def ddim_step(noisy: Tensor, clean: Tensor, here: float, there: float, noise: Tensor) -> Tensor:
    """The state at an earlier step, from the current state and the predicted clean state, with the weights of `ddim_weights`."""
    of_clean, of_noisy, of_noise = ddim_weights(here, there)
    state: Tensor = (clean * of_clean).add(noisy, alpha=of_noisy).add(noise, alpha=of_noise)
    return state
