from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import anyner
from anyner.training.adversarial import moved_uphill
from anyner.training.config import Recipe


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
    with moved_uphill(table.weight, 0.5):
        moved = table.weight.detach() - before
    torch.testing.assert_close(moved.norm(), 0.5 * mean_length)
    torch.testing.assert_close(moved / moved.norm(), gradient / gradient.norm())
    assert not moved[[0, 2, 4, 5, 6]].any()  # words that the text does not have


def test_the_loss_is_higher_there(table: nn.Embedding) -> None:
    first = loss(table)
    first.backward()  # type: ignore[no-untyped-call]
    with moved_uphill(table.weight, 0.1):
        assert loss(table) > first


def test_the_gradients_from_there_are_added(table: nn.Embedding) -> None:
    loss(table).backward()  # type: ignore[no-untyped-call]
    assert table.weight.grad is not None
    first = table.weight.grad.clone()
    with moved_uphill(table.weight, 0.5):
        there = table.weight.detach().clone().requires_grad_()
        loss(table).backward()  # type: ignore[no-untyped-call]
    expected = torch.autograd.grad(torch.sin(there[torch.tensor([1, 3, 3])]).sum(), there)[0]
    torch.testing.assert_close(table.weight.grad, first + expected)
    assert not torch.allclose(expected, first)


def test_the_table_is_back_to_the_last_bit_even_after_an_error(table: nn.Embedding) -> None:
    loss(table).backward()  # type: ignore[no-untyped-call]
    before = table.weight.detach().clone()
    with pytest.raises(RuntimeError, match="inside"), moved_uphill(table.weight, 0.3):
        assert not torch.equal(table.weight, before)
        raise RuntimeError("inside")
    assert torch.equal(table.weight, before)


@pytest.mark.parametrize("gradient", [None, torch.zeros(7, 5)], ids=["none", "zero"])
def test_without_a_gradient_nothing_moves(table: nn.Embedding, gradient: Tensor | None) -> None:
    table.weight.grad, before = gradient, table.weight.detach().clone()
    with moved_uphill(table.weight, 0.3):
        assert torch.equal(table.weight, before)


def test_a_model_learns_otherwise_with_it(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    for name, size in (("plain", 0.0), ("moved", 0.5)):
        anyner.train(tiny("training.epochs=1", f"training.adversarial={size}"), tmp_path / name)
    plain, moved = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("plain", "moved"))
    assert plain != moved
