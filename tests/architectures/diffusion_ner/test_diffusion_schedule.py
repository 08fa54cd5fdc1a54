"""Noise schedules, denoising steps, and spans as states, against their definitions."""

from typing import Literal

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from anyner.architectures.diffusion_ner.schedule import schedule_of, step_pairs
from anyner.architectures.diffusion_ner.spans import ddim_step, to_spans, to_states

ScheduleName = Literal["cosine", "linear"]
NAMES: list[ScheduleName] = ["cosine", "linear"]


@pytest.mark.parametrize(("name", "expected"), [
    ("cosine", [0.899, 0.647, 0.341, 0.094, 2.4e-9]), ("linear", [0.659, 0.195, 0.026, 1.5e-3, 4.0e-5]),
])  # fmt: skip
def test_a_thousand_steps_keep_as_much_as_they_should(name: ScheduleName, expected: list[float]) -> None:
    alpha_bar = schedule_of(name, 1000)[[199, 399, 599, 799, 999]]
    assert alpha_bar.tolist() == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("steps", [2, 10, 300, 1500])
def test_noise_only_grows(name: ScheduleName, steps: int) -> None:
    alpha_bar = schedule_of(name, steps)
    assert len(alpha_bar) == steps
    assert (np.diff(alpha_bar) < 0).all()
    assert 0 < alpha_bar[-1] < alpha_bar[0] < 1


def test_noising_at_once_is_noising_step_by_step() -> None:
    """Mean and variance of the chain x_t = sqrt(1 - b) x_(t-1) + sqrt(b) e, composed step by step, with the linear noise."""
    factor, variance = 1.0, 0.0
    for alpha_bar, noise in zip(schedule_of("linear", 500), 2 * np.linspace(1e-4, 0.02, 500), strict=True):
        factor, variance = factor * np.sqrt(1 - noise), variance * (1 - noise) + noise
        assert np.sqrt(alpha_bar) == pytest.approx(factor, rel=1e-9)
        assert 1 - alpha_bar == pytest.approx(variance, rel=1e-9)


def test_denoising_goes_from_all_noise_to_none() -> None:
    assert step_pairs(1000, 5) == [(999, 799), (799, 599), (599, 399), (399, 199), (199, -1)]
    assert step_pairs(1000, 1) == [(999, -1)]
    assert step_pairs(3, 10) == [(2, 1), (1, 0), (0, -1)]


@given(st.sampled_from(NAMES), st.integers(0, 998), st.integers(0, 998), st.integers(0, 99))
def test_a_step_is_the_posterior_of_the_diffusion(name: ScheduleName, one: int, other: int, seed: int) -> None:
    """q(x_there | x_here, x_0) by Bayes' rule: the product of two normal distributions of x_there."""
    alpha_bar = schedule_of(name, 1000)
    there, here = alpha_bar[min(one, other)], alpha_bar[max(one, other) + 1]
    generator = torch.Generator().manual_seed(seed)
    clean, noisy, noise = (torch.randn(7, 2, generator=generator, dtype=torch.float64) for _ in range(3))
    share, variance = (here / there) ** 0.5, 1 - here / there  # of x_here given x_there
    spread = 1 / (share**2 / variance + 1 / (1 - there))
    mean = spread * (share * noisy / variance + there**0.5 * clean / (1 - there))
    assert torch.allclose(ddim_step(noisy, clean, here, there, noise), mean + spread**0.5 * noise, atol=1e-6)


def test_every_span_of_every_length_comes_back() -> None:
    for words in [*range(1, 40), 128, 200]:
        first, last = torch.triu_indices(words, words)
        count = torch.tensor(words)
        state = to_states(first, last, count)
        assert state.abs().max() <= 1 + 1e-6
        again = to_spans(state, count)
        assert torch.equal(again[0], first)
        assert torch.equal(again[1], last)


def test_any_numbers_are_some_span() -> None:
    state = torch.randn(50, 40, 2, generator=torch.Generator().manual_seed(1)) * 9
    words = torch.arange(1, 51)[:, None]
    first, last = to_spans(state, words)
    assert (first >= 0).all()
    assert (first <= last).all()
    assert (last < words).all()
