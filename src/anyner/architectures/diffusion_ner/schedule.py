"""How much of a clean state is left after t steps of noise, and the way back (sections 3.1 and 3.3 of the paper).

Steps count from 0, so step t has the paper's index t + 1. Noise schedules are numpy in float64; states are float32 tensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

ScheduleName = Literal["cosine", "linear"]
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Schedule:
    """`kept[t]` is the paper's alpha-bar: the share of the clean state's variance that is left after step t."""

    kept: Doubles  # (T,)

    def __len__(self) -> int:
        return len(self.kept)

    def signal_and_noise(self, step: NDArray[np.int64]) -> tuple[Doubles, Doubles]:
        """The factors of the clean state and of the noise at these steps (equation 4)."""
        return np.sqrt(self.kept[step]), np.sqrt(1 - self.kept[step])


@lru_cache(maxsize=16)
def schedule_of(name: ScheduleName, steps: int) -> Schedule:
    added = cosine_noise(steps) if name == "cosine" else linear_noise(steps)
    return Schedule(np.cumprod(1 - added).astype(np.float64))


def cosine_noise(steps: int) -> Doubles:
    """The paper's beta of every step, such that alpha-bar falls as a squared cosine."""
    level = np.cos((np.arange(steps + 1) / steps + 0.008) / 1.008 * np.pi / 2) ** 2
    added: Doubles = np.minimum(1 - level[1:] / level[:-1], 0.999)
    return added


def linear_noise(steps: int) -> Doubles:
    """From 0.0001 to 0.02 in a thousand steps; with another number of steps as much noise in all."""
    added: Doubles = np.minimum(1000 / steps * np.linspace(1e-4, 0.02, steps), 0.999)
    return added


def denoising_pairs(total: int, steps: int) -> list[tuple[int, int]]:
    """(from, to) of each denoising step, from all noise to none: to = -1 means the clean state."""
    stops = np.linspace(-1, total - 1, min(steps, total) + 1).astype(int)[::-1].tolist()
    return list(pairwise(stops))


def earlier(noisy: Tensor, clean: Tensor, kept: tuple[float, float], eta: float, noise: Tensor | None) -> Tensor:
    """DDIM (equations 5 to 7): the state at an earlier step, from the state and what it is believed to be without noise.

    `kept` is alpha-bar at the state's own step and at the earlier one. `eta` 0 adds no noise, 1 as much as was taken away.
    """
    here, there = kept
    spread = eta * max((1 - here / there) * (1 - there) / max(1 - here, 1e-12), 0.0) ** 0.5
    of_noise = (max(1 - there - spread**2, 0.0) / max(1 - here, 1e-12)) ** 0.5
    state: Tensor = (clean * (there**0.5 - of_noise * here**0.5)).add(noisy, alpha=of_noise)
    return state.add(noise, alpha=spread) if noise is not None and spread else state
