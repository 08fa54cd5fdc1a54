from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import anyner
from anyner.training.adversarial import moved_uphill
from anyner.training.config import Recipe
from anyner.training.loop import Trainer


@pytest.fixture
def table() -> nn.Embedding:
    torch.manual_seed(0)
    return nn.Embedding(7, 5)


def loss(table: nn.Embedding) -> Tensor:
    """Of a text with the words 1, 3 and 3."""
    return torch.sin(table(torch.tensor([1, 3, 3]))).sum()


def test_it_moves_so_far_in_the_direction_of_the_gradient(table: nn.Embedding) -> None:
    loss(table).backward()  # type: ignore[no-untyped-call]
    before, gradient = table.weight.detach().clone(), table.weight.grad
    assert gradient is not None
    mean_length = before.square().sum(1).mean().sqrt()
    with moved_uphill(table.weight, gradient, 0.5):
        moved = table.weight.detach() - before
    torch.testing.assert_close(moved.norm(), 0.5 * mean_length)
    torch.testing.assert_close(moved / moved.norm(), gradient / gradient.norm())
    assert not moved[[0, 2, 4, 5, 6]].any()  # words that the text does not have


def test_the_loss_is_higher_there(table: nn.Embedding) -> None:
    first = loss(table)
    first.backward()  # type: ignore[no-untyped-call]
    with moved_uphill(table.weight, table.weight.grad, 0.1):
        assert loss(table) > first


def test_the_gradients_from_there_are_added(table: nn.Embedding) -> None:
    loss(table).backward()  # type: ignore[no-untyped-call]
    assert table.weight.grad is not None
    first = table.weight.grad.clone()
    with moved_uphill(table.weight, table.weight.grad, 0.5):
        there = table.weight.detach().clone().requires_grad_()
        loss(table).backward()  # type: ignore[no-untyped-call]
    expected = torch.autograd.grad(torch.sin(there[torch.tensor([1, 3, 3])]).sum(), there)[0]
    torch.testing.assert_close(table.weight.grad, first + expected)
    assert not torch.allclose(expected, first)


def test_the_table_is_back_to_the_last_bit_even_after_an_error(table: nn.Embedding) -> None:
    loss(table).backward()  # type: ignore[no-untyped-call]
    before = table.weight.detach().clone()
    with pytest.raises(RuntimeError, match="inside"), moved_uphill(table.weight, table.weight.grad, 0.3):
        assert not torch.equal(table.weight, before)
        raise RuntimeError("inside")
    assert torch.equal(table.weight, before)


@pytest.mark.parametrize("gradient", [None, torch.zeros(7, 5)], ids=["none", "zero"])
def test_without_a_gradient_nothing_moves(table: nn.Embedding, gradient: Tensor | None) -> None:
    before = table.weight.detach().clone()
    with moved_uphill(table.weight, gradient, 0.3):
        assert torch.equal(table.weight, before)


def test_a_tiny_gradient_moves_it_as_far_as_a_large_one(table: nn.Embedding) -> None:
    before, moved = table.weight.detach().clone(), []
    for gradient in (1.0, 1e-30):
        with moved_uphill(table.weight, torch.full((7, 5), gradient), 0.3):
            moved.append(table.weight.detach() - before)
    torch.testing.assert_close(*moved)


def weights(recipe: Recipe, folder: Path) -> bytes:
    return (anyner.train(recipe, folder).folder / "model.safetensors").read_bytes()


@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_model_learns_otherwise_the_farther_it_moves(tiny: Callable[..., Recipe], tmp_path: Path, accumulate: int) -> None:
    """A way of almost nothing also learns every batch twice: what differs is the move itself."""
    nothing, far = (
        weights(tiny("training.epochs=1", f"training.accumulate={accumulate}", f"training.adversarial={size}"), tmp_path / name)
        for name, size in (("nothing", 1e-30), ("far", 0.5))
    )
    assert nothing != far


def test_each_batch_is_moved_against_by_its_own_gradient(
    tiny: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only rows of the pieces of a batch have a gradient, also of the second one before a step."""
    seen: list[set[int]] = []

    def watched(table: Tensor, gradient: Tensor | None, size: float) -> Any:
        assert gradient is not None and size == 0.5
        seen.append(set(gradient.abs().sum(1).nonzero()[:, 0].tolist()))
        return moved_uphill(table, gradient, size)

    batches: list[set[int]] = []
    original = Trainer._share

    def noted(trainer: Trainer, *arguments: Any) -> Any:
        share = original(trainer, *arguments)
        batches.append(set(share.batch.piece_ids.unique().tolist()))
        return share

    monkeypatch.setattr("anyner.training.loop.moved_uphill", watched)
    monkeypatch.setattr(Trainer, "_share", noted)
    anyner.train(tiny("training.epochs=1", "training.accumulate=2", "training.adversarial=0.5"), tmp_path / "model")
    assert len(seen) == len(batches) > 3
    assert all(moved and moved <= there for moved, there in zip(seen, batches, strict=True))


def test_a_frozen_encoder_does_not_move(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    plain, moved = (
        weights(tiny("training.epochs=1", "training.frozen_epochs=1", f"training.adversarial={size}"), tmp_path / str(size))
        for size in (0.0, 0.5)
    )
    assert plain == moved
