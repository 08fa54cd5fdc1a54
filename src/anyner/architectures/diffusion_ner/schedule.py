"""Spans as states of a diffusion, the noise schedules, and one denoising step (sections 3.1 and 3.3 of the paper).

Steps count from 0: step t has the paper's index t + 1. A schedule is alpha-bar: the share of the clean state's variance that is
left after each step. Schedules are float64 arrays, states float32 tensors.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Doubles = NDArray[np.float64]


def to_states(first: Tensor, last: Tensor, words: Tensor) -> Tensor:
    """First word and width of spans in sentences of `words` words, as two numbers in [-1, 1]: (…, 2)."""
    longest = (words - 1).clamp(min=1).float()  # a sentence of one word has one span, at 0
    return torch.stack([first, last - first], dim=-1) * (2 / longest)[..., None] - 1


def to_spans(states: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
    """First and last word (inclusive) of the span nearest to each state (…, 2); every state has one."""
    left, width = ((states.clamp(-1, 1) + 1) / 2).unbind(-1)
    first, last = (torch.stack([left, (left + width).clamp(max=1)]) * (words - 1)).round().long()
    return first, last


def schedule_of(name: Literal["cosine", "linear"], steps: int) -> Doubles:
    """Alpha-bar (T,). It falls as a squared cosine, or by noise that rises linearly from 0.0001 to 0.02 in a thousand steps;
    scaled so that other numbers of steps add as much noise in all."""
    if name == "cosine":
        level = np.cos((np.arange(steps + 1) / steps + 0.008) / 1.008 * np.pi / 2) ** 2
        betas = 1 - level[1:] / level[:-1]
    else:
        betas = 1000 / steps * np.linspace(1e-4, 0.02, steps)
    alpha_bar: Doubles = np.cumprod(1 - np.minimum(betas, 0.999))
    return alpha_bar


def step_pairs(total: int, steps: int) -> list[tuple[int, int]]:
    """(from, to) of each denoising step, from pure noise down to -1, the clean state."""
    stops = np.linspace(-1, total - 1, min(steps, total) + 1).astype(int)[::-1].tolist()
    return list(pairwise(stops))


def ddim_step(noisy: Tensor, clean: Tensor, here: float, there: float, noise: Tensor) -> Tensor:
    """The state at an earlier step, from the state here and the predicted clean state (equations 5 to 7).

    `here` and `there` are alpha-bar of this step and of the earlier one. As much new noise comes in as was removed, as in the
    authors' code; the paper's text has none.
    """
    sigma = max((1 - here / there) * (1 - there) / max(1 - here, 1e-12), 0.0) ** 0.5
    of_noise = (max(1 - there - sigma**2, 0.0) / max(1 - here, 1e-12)) ** 0.5
    state: Tensor = (clean * (there**0.5 - of_noise * here**0.5)).add(noisy, alpha=of_noise).add(noise, alpha=sigma)
    return state
