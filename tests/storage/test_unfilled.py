"""Loading draws no random numbers: it is faster, and random numbers elsewhere stay the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import anyner
from anyner.architectures.registry import names
from anyner.storage.torch_model import Unfilled
from anyner.training.config import Recipe


@pytest.mark.parametrize("architecture", names())
def test_loading_leaves_the_random_numbers_alone(architecture: str, tmp_path: Path) -> None:
    recipe = Recipe.of(
        {
            "data": {"synthetic": {"contiguous": True, "sentences": 12}},
            "encoder": {"scratch_width": 32, "lstm_layers": 1},
            "architecture": architecture,
            "training": {"epochs": 1},
        },
        "recipe",
    )
    folder = anyner.train(recipe, tmp_path / "model").folder
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    anyner.load(folder)
    assert torch.equal(torch.rand(4), expected)


def test_weights_stay_as_they_are_and_all_else_works() -> None:
    weight = torch.full((3, 3), 7.0)
    with Unfilled():
        for fill in (nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_):
            assert fill(weight) is weight
        weight.normal_()
        weight.uniform_()
        layer = nn.Linear(3, 2)
        assert nn.init.zeros_(layer.bias).sum() == 0
    assert (weight == 7).all()
    assert nn.init.normal_(weight).std() < 7
