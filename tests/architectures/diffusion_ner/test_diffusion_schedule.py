"""Noise schedules, denoising steps, and spans as states, against their definitions."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from anyner.architectures.diffusion_ner.schedule import (
    ScheduleName,
    cosine_betas,
    ddim_step,
    linear_betas,
    schedule_of,
    step_pairs,
    to_spans,
    to_states,
)

NAMES: list[ScheduleName] = ["cosine", "linear"]


@pytest.mark.parametrize(("name", "expected"), [
    ("cosine", [0.899, 0.647, 0.341, 0.094, 2.4e-9]), ("linear", [0.659, 0.195, 0.026, 1.5e-3, 4.0e-5]),
])  # fmt: skip
def test_a_thousand_steps_keep_as_much_as_they_should(name: ScheduleName, expected: list[float]) -> None:
    alpha_bar = schedule_of(name, 1000).alpha_bar[[199, 399, 599, 799, 999]]
    assert alpha_bar.tolist() == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("steps", [2, 10, 300, 1500])
def test_noise_only_grows(name: ScheduleName, steps: int) -> None:
    alpha_bar = schedule_of(name, steps).alpha_bar
    assert len(alpha_bar) == steps
    assert (np.diff(alpha_bar) < 0).all()
    assert 0 < alpha_bar[-1] < alpha_bar[0] < 1


@pytest.mark.parametrize("name", NAMES)
def test_noising_at_once_is_noising_step_by_step(name: ScheduleName) -> None:
    """Mean and variance of the chain x_t = sqrt(1 - b) x_(t-1) + sqrt(b) e, composed one step at a time."""
    schedule = schedule_of(name, 50)
    added = cosine_betas(50) if name == "cosine" else linear_betas(50)
    factor, variance = 1.0, 0.0
    for step, noise in enumerate(added):
        factor, variance = factor * np.sqrt(1 - noise), variance * (1 - noise) + noise
        signal, spread = schedule.signal_and_noise(np.array([step]))
        assert signal[0] == pytest.approx(factor, rel=1e-9)
        assert spread[0] ** 2 == pytest.approx(variance, rel=1e-9)


def test_denoising_goes_from_all_noise_to_none() -> None:
    assert step_pairs(1000, 5) == [(999, 799), (799, 599), (599, 399), (399, 199), (199, -1)]
    assert step_pairs(1000, 1) == [(999, -1)]
    assert step_pairs(3, 10) == [(2, 1), (1, 0), (0, -1)]


@settings(deadline=None)
@given(st.sampled_from(NAMES), st.integers(1, 20), st.integers(0, 99))
def test_a_perfect_denoiser_leads_back_from_any_noise(name: ScheduleName, steps: int, seed: int) -> None:
    """Without new noise every step lands on the straight way from the noise to the clean state."""
    schedule = schedule_of(name, 1000)
    generator = torch.Generator().manual_seed(seed)
    clean, noise = torch.rand(7, 2, generator=generator) * 2 - 1, torch.randn(7, 2, generator=generator)
    state = clean * schedule.alpha_bar[999] ** 0.5 + noise * (1 - schedule.alpha_bar[999]) ** 0.5
    for here, there in step_pairs(1000, steps)[:-1]:
        state = ddim_step(state, clean, (schedule.alpha_bar[here], schedule.alpha_bar[there]), 0.0, None)
        expected = clean * schedule.alpha_bar[there] ** 0.5 + noise * (1 - schedule.alpha_bar[there]) ** 0.5
        assert torch.allclose(state, expected, atol=1e-3)


def test_new_noise_keeps_the_spread_of_the_state() -> None:
    """With eta 1 the predicted noise is partly replaced: the variance stays that of the schedule."""
    schedule = schedule_of("cosine", 1000)
    generator = torch.Generator().manual_seed(0)
    clean = torch.zeros(200_000, 1)
    state = torch.randn(200_000, 1, generator=generator) * (1 - schedule.alpha_bar[799]) ** 0.5
    noise = torch.randn(200_000, 1, generator=generator)
    for eta in (0.0, 0.5, 1.0):
        state_there = ddim_step(state, clean, (schedule.alpha_bar[799], schedule.alpha_bar[399]), eta, noise)
        assert float(state_there.var()) == pytest.approx(1 - schedule.alpha_bar[399], rel=0.02)


@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_every_span_of_every_length_comes_back(scale: float) -> None:
    for words in range(1, 201):
        first, last = torch.triu_indices(words, words)
        count = torch.tensor(words)
        state = to_states(first, last, count, scale)
        assert state.abs().max() <= scale + 1e-6
        again = to_spans(state, count, scale)
        assert torch.equal(again[0], first)
        assert torch.equal(again[1], last)


def test_any_numbers_are_some_span() -> None:
    state = torch.randn(50, 40, 2, generator=torch.Generator().manual_seed(1)) * 9
    words = torch.arange(1, 51)[:, None]
    first, last = to_spans(state, words, 1.0)
    assert (first >= 0).all()
    assert (first <= last).all()
    assert (last < words).all()
