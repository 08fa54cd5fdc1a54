"""Noise schedules, the weights of a denoising step and spans as states (sections 3.1 and 3.3 of the paper). numpy only.

Steps count from 0: step t has the paper's index t + 1. A schedule is alpha-bar: the share of the clean state's variance that is
left after each step, as a float64 array.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
Integers = NDArray[np.int64]


def schedule_of(name: Literal["cosine", "linear"], steps: int) -> Doubles:
    """Alpha-bar (T,): a squared cosine, or noise that rises linearly from 0.0001 to 0.02 in a thousand steps, scaled so that
    other numbers of steps add as much noise in all."""
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


def ddim_weights(here: float, there: float) -> tuple[float, float, float]:
    """Weights of the predicted clean state, the current state and new noise in the state at an earlier step (equations 5 to 7).

    `here` and `there` are alpha-bar of the current and of the earlier step. New noise is added as in the authors' code (DDIM with
    eta 1); the paper's text adds none (eta 0).
    """
    sigma = max((1 - here / there) * (1 - there) / max(1 - here, 1e-12), 0.0) ** 0.5
    of_noisy = (max(1 - there - sigma**2, 0.0) / max(1 - here, 1e-12)) ** 0.5
    return there**0.5 - of_noisy * here**0.5, float(of_noisy), float(sigma)


def to_states(first: Integers, last: Integers, words: Integers) -> Floats:
    """First word and width of spans in sentences of `words` words, as two numbers in [-1, 1]: (R, K, 2)."""
    scale = np.float32(2) / np.maximum(words - 1, 1).astype(np.float32)  # a sentence of one word has one span, at 0
    states: Floats = np.stack([first, last - first], axis=-1).astype(np.float32) * scale[..., None] - 1
    return states


def to_spans(states: Floats, words: Integers) -> tuple[Integers, Integers]:
    """First and last word (inclusive) of the span nearest to each state (R, K, 2), of sentences of `words` (R, 1) words."""
    left, width = np.moveaxis((np.clip(states, -1, 1) + 1) / 2, -1, 0)
    last = np.minimum(left + width, np.float32(1))
    first, last = (np.round(side * (words - 1).astype(np.float32)) for side in (left, last))
    return first.astype(np.int64), last.astype(np.int64)
