from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from anyner.model import NerModel
from anyner.training.config import Recipe, TrainingConfig
from anyner.training.data.splits import read_data
from anyner.training.optimizer import build_optimizer, schedule, set_rates
from anyner.training.run import build


@pytest.fixture(scope="module")
def model(tiny: Callable[..., Recipe]) -> NerModel:
    recipe = tiny("encoder.lstm_layers=1")
    return build(recipe, read_data(recipe.data, recipe.text))[0].model


def test_every_parameter_is_in_one_group_with_its_rate_and_decay(model: NerModel) -> None:
    optimizer = build_optimizer(model, TrainingConfig(encoder_lr=1e-5, head_lr=1e-3))
    of = {id(p): group for group in optimizer.param_groups for p in group["params"]}
    assert sum(len(group["params"]) for group in optimizer.param_groups) == len(list(model.parameters())) == len(of)
    for name, parameter in model.named_parameters():
        group = of[id(parameter)]
        assert group["lr"] == (1e-5 if name.startswith("encoder.pretrained.") else 1e-3), name
        assert group["weight_decay"] == (0.01 if parameter.dim() > 1 else 0.0), name
    assert any(name.startswith("encoder.word_layer.lstm") for name, _ in model.named_parameters())


def test_set_rates_scales_every_group_from_its_peak(model: NerModel) -> None:
    optimizer = build_optimizer(model, TrainingConfig(encoder_lr=1e-5, head_lr=1e-3))
    set_rates(optimizer, 0.5)
    set_rates(optimizer, 0.25)
    assert {group["lr"] for group in optimizer.param_groups} == {0.25e-5, 0.25e-3}


def test_the_schedule_rises_to_one_and_falls_towards_zero() -> None:
    shares = [schedule(step, 100) for step in range(100)]
    assert shares[0] == 0.1
    assert shares[9] == shares[10] == max(shares) == 1.0
    assert all(a < b for a, b in pairwise(shares[:10]))
    assert all(a > b for a, b in pairwise(shares[10:]))
    assert 0 < shares[-1] < 0.02


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_the_schedule_stays_in_bounds_however_few_the_steps(steps: int) -> None:
    assert all(0 < schedule(step, steps) <= 1 for step in range(steps))
    assert schedule(steps + 3, steps) == 0.0
