"""Adversarial training (FGM) and averaged weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import anyner
from anyner.training.config import Recipe
from anyner.training.data.splits import dev_passages, read_data
from anyner.training.loop import Trainer
from anyner.training.regularize import WeightAverage, perturbed


@pytest.fixture
def table() -> nn.Embedding:
    torch.manual_seed(0)
    return nn.Embedding(7, 5)


def loss(table: nn.Embedding) -> Tensor:
    """Of a text with the words 1, 3 and 3."""
    return torch.sin(table(torch.tensor([1, 3, 3]))).sum()


def test_the_table_is_shifted_along_the_gradient(table: nn.Embedding) -> None:
    loss(table).backward()  # type: ignore[no-untyped-call]
    before, gradient = table.weight.detach().clone(), table.weight.grad
    assert gradient is not None
    mean_length = before.square().sum(1).mean().sqrt()
    with perturbed(table.weight, 0.5):
        shift = table.weight.detach() - before
    torch.testing.assert_close(shift.norm(), 0.5 * mean_length)
    torch.testing.assert_close(shift / shift.norm(), gradient / gradient.norm())
    assert not shift[[0, 2, 4, 5, 6]].any()  # words that the text does not have


def test_the_loss_rises(table: nn.Embedding) -> None:
    first = loss(table)
    first.backward()  # type: ignore[no-untyped-call]
    with perturbed(table.weight, 0.1):
        assert loss(table) > first


def test_gradients_of_both_passes_are_added(table: nn.Embedding) -> None:
    loss(table).backward()  # type: ignore[no-untyped-call]
    assert table.weight.grad is not None
    first = table.weight.grad.clone()
    with perturbed(table.weight, 0.5):
        there = table.weight.detach().clone().requires_grad_()
        loss(table).backward()  # type: ignore[no-untyped-call]
    expected = torch.autograd.grad(torch.sin(there[torch.tensor([1, 3, 3])]).sum(), there)[0]
    torch.testing.assert_close(table.weight.grad, first + expected)
    assert not torch.allclose(expected, first)


def test_the_table_is_restored_exactly_even_after_an_error(table: nn.Embedding) -> None:
    loss(table).backward()  # type: ignore[no-untyped-call]
    before = table.weight.detach().clone()
    with pytest.raises(RuntimeError, match="inside"), perturbed(table.weight, 0.3):
        assert not torch.equal(table.weight, before)
        raise RuntimeError("inside")
    assert torch.equal(table.weight, before)


@pytest.mark.parametrize("gradient", [None, torch.zeros(7, 5)], ids=["none", "zero"])
def test_without_a_gradient_nothing_is_shifted(table: nn.Embedding, gradient: Tensor | None) -> None:
    before, table.weight.grad = table.weight.detach().clone(), gradient
    with perturbed(table.weight, 0.3):
        assert torch.equal(table.weight, before)


def test_a_tiny_gradient_shifts_as_far_as_a_large_one(table: nn.Embedding) -> None:
    before, shifts = table.weight.detach().clone(), []
    for gradient in (1.0, 1e-30):
        table.weight.grad = torch.full((7, 5), gradient)
        with perturbed(table.weight, 0.3):
            shifts.append(table.weight.detach() - before)
    torch.testing.assert_close(*shifts)


def weights(recipe: Recipe, folder: Path) -> bytes:
    return (anyner.train(recipe, folder).folder / "model.safetensors").read_bytes()


def test_the_size_of_the_shift_changes_the_model(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    """A shift of almost nothing also gives every batch two backward passes: the difference is the shift itself."""
    nothing, far = (
        weights(tiny("training.epochs=1", f"training.adversarial={size}"), tmp_path / name)
        for name, size in (("nothing", 1e-30), ("far", 0.5))
    )
    assert nothing != far


def test_only_pieces_of_the_batch_are_shifted(
    tiny: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shifted: list[set[int]] = []

    def watched(table: Tensor, size: float) -> Any:
        assert table.grad is not None and size == 0.5
        shifted.append(set(table.grad.abs().sum(1).nonzero()[:, 0].tolist()))
        return perturbed(table, size)

    batches: list[set[int]] = []
    original = Trainer._batch

    def noted(trainer: Trainer, *arguments: Any) -> Any:
        batch = original(trainer, *arguments)
        batches.append(set(batch.piece_ids.unique().tolist()))
        return batch

    monkeypatch.setattr("anyner.training.loop.perturbed", watched)
    monkeypatch.setattr(Trainer, "_batch", noted)
    anyner.train(tiny("training.epochs=1", "training.adversarial=0.5"), tmp_path / "model")
    assert len(shifted) == len(batches) > 3
    assert all(own and own <= there for own, there in zip(shifted, batches, strict=True))


def test_the_average_is_exponential() -> None:
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    average, expected = WeightAverage(model, steps=20), model.weight.detach().clone()
    for step in range(1, 400):
        with torch.no_grad():
            model.weight += torch.randn(2, 3)
        average.add(step)
        kept = min(1 - 1 / 20, step / (step + 10))
        expected = kept * expected + (1 - kept) * model.weight.detach()
    torch.testing.assert_close(average.weights["weight"], expected)


def test_own_weights_are_restored_even_after_an_error() -> None:
    model = nn.Linear(3, 2)
    average, before = WeightAverage(model, steps=5), model.weight.detach().clone()
    with torch.no_grad():
        model.weight.zero_()
    with pytest.raises(RuntimeError, match="inside"), average.applied():
        assert torch.equal(model.weight, before)
        raise RuntimeError("inside")
    assert not model.weight.any()
    assert torch.equal(average.weights["weight"], before)


def test_weights_of_another_model_are_refused() -> None:
    with pytest.raises(ValueError, match="another model"):
        WeightAverage(nn.Linear(3, 2), steps=5).restore({"weight": torch.zeros(2, 3)})


def test_scores_and_the_saved_model_use_the_average(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    longer = ("training.epochs=5", "training.encoder_lr=0.01", "training.head_lr=0.01")
    recipe = tiny(*longer, "training.average_epochs=1.5")
    result = anyner.train(recipe, tmp_path / "averaged")
    anyner.train(tiny(*longer), tmp_path / "plain")
    averaged, last = (dict(anyner.load(tmp_path / name).model.named_parameters()) for name in ("averaged", "plain"))
    assert any(not torch.equal(averaged[name], last[name]) for name in averaged)
    dev = anyner.evaluate(anyner.load(tmp_path / "averaged"), dev_passages(read_data(recipe.data, recipe.text).dev))
    assert dev.strict.f1 == pytest.approx(result.outcome.best_f1)
    assert dev.strict.f1 > 0.1
