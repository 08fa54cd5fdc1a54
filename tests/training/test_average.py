from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

import anyner
from anyner.training.average import Average
from anyner.training.config import Recipe
from anyner.training.data import dev_passages, read_data


def test_it_is_the_exponential_average_of_all_weights_so_far() -> None:
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    average, expected = Average(model, steps=20), model.weight.detach().clone()
    for step in range(1, 400):
        with torch.no_grad():
            model.weight += torch.randn(2, 3)
        average.add(step)
        kept = min(1 - 1 / 20, step / (step + 10))
        expected = kept * expected + (1 - kept) * model.weight.detach()
    torch.testing.assert_close(average.state()["weight"], expected)


def test_it_is_there_inside_and_the_own_weights_are_back_behind_even_after_an_error() -> None:
    model = nn.Linear(3, 2)
    average, before = Average(model, steps=5), model.weight.detach().clone()
    with torch.no_grad():
        model.weight.zero_()
    with pytest.raises(RuntimeError, match="inside"), average.applied():
        assert torch.equal(model.weight, before)
        raise RuntimeError("inside")
    assert not model.weight.any()
    assert torch.equal(average.state()["weight"], before)


def test_weights_of_another_model_are_refused() -> None:
    with pytest.raises(ValueError, match="another model"):
        Average(nn.Linear(3, 2), steps=5).restore({"weight": torch.zeros(2, 3)})


def test_scores_and_the_saved_model_are_of_the_average(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    longer = ("training.epochs=5", "training.encoder_lr=0.01", "training.head_lr=0.01")
    recipe = tiny(*longer, "training.average_epochs=1.5")
    result = anyner.train(recipe, tmp_path / "averaged")
    anyner.train(tiny(*longer), tmp_path / "plain")
    averaged, last = (dict(anyner.load(tmp_path / name).model.named_parameters()) for name in ("averaged", "plain"))
    assert any(not torch.equal(averaged[name], last[name]) for name in averaged)
    dev = anyner.evaluate(anyner.load(tmp_path / "averaged"), dev_passages(read_data(recipe.data, recipe.text).dev))
    assert dev.strict.f1 == pytest.approx(result.outcome.best_f1)
    assert dev.strict.f1 > 0.1
