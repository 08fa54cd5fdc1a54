"""Spans as states of a diffusion, the noise schedules, and one denoising step (sections 3.1 and 3.3 of the paper).

Steps count from 0: step t has the paper's index t + 1. Schedules are float64 arrays, states float32 tensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

ScheduleName = Literal["cosine", "linear"]
Doubles = NDArray[np.float64]


def to_states(first: Tensor, last: Tensor, words: Tensor, scale: float) -> Tensor:
    """First word and width of spans in sentences of `words` words, as two numbers in [-scale, scale]: (…, 2)."""
    longest = (words - 1).clamp(min=1).float()  # a sentence of one word has one span, at 0
    return torch.stack([first, last - first], dim=-1) * (2 * scale / longest)[..., None] - scale


def to_spans(states: Tensor, words: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """First and last word (inclusive) of the span nearest to each state (…, 2); every state has one."""
    left, width = ((states.float().clamp(-scale, scale) + scale) / (2 * scale)).unbind(-1)
    first, last = (torch.stack([left, (left + width).clamp(max=1)]) * (words - 1)).round().long()
    return first, last


@dataclass(frozen=True)
class Schedule:
    alpha_bar: Doubles  # (T,) the share of the clean state's variance that is left after each step

    def __len__(self) -> int:
        return len(self.alpha_bar)

    def signal_and_noise(self, step: NDArray[np.int64]) -> tuple[Doubles, Doubles]:
        """The factors of the clean state and of the noise at these steps (equation 4)."""
        return np.sqrt(self.alpha_bar[step]), np.sqrt(1 - self.alpha_bar[step])


@lru_cache(maxsize=16)
def schedule_of(name: ScheduleName, steps: int) -> Schedule:
    betas = cosine_betas(steps) if name == "cosine" else linear_betas(steps)
    return Schedule(np.cumprod(1 - betas).astype(np.float64))


def cosine_betas(steps: int) -> Doubles:
    """Alpha-bar falls as a squared cosine."""
    level = np.cos((np.arange(steps + 1) / steps + 0.008) / 1.008 * np.pi / 2) ** 2
    betas: Doubles = np.minimum(1 - level[1:] / level[:-1], 0.999)
    return betas


def linear_betas(steps: int) -> Doubles:
    """From 0.0001 to 0.02 in a thousand steps; scaled so that other numbers of steps add as much noise in all."""
    betas: Doubles = np.minimum(1000 / steps * np.linspace(1e-4, 0.02, steps), 0.999)
    return betas


def step_pairs(total: int, steps: int) -> list[tuple[int, int]]:
    """(from, to) of each denoising step, from pure noise down to -1, the clean state."""
    stops = np.linspace(-1, total - 1, min(steps, total) + 1).astype(int)[::-1].tolist()
    return list(pairwise(stops))


def ddim_step(noisy: Tensor, clean: Tensor, alpha_bar: tuple[float, float], eta: float, noise: Tensor | None) -> Tensor:
    """The state at an earlier step, from the state here and the predicted clean state (equations 5 to 7).

    `alpha_bar` is that of this step and of the earlier one. `eta` 0 is deterministic; 1 replaces the removed noise by new noise.
    """
    here, there = alpha_bar
    sigma = eta * max((1 - here / there) * (1 - there) / max(1 - here, 1e-12), 0.0) ** 0.5
    of_noise = (max(1 - there - sigma**2, 0.0) / max(1 - here, 1e-12)) ** 0.5
    state: Tensor = (clean * (there**0.5 - of_noise * here**0.5)).add(noisy, alpha=of_noise)
    return state.add(noise, alpha=sigma) if noise is not None and sigma else state
