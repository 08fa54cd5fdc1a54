"""Pooling without a words x pieces tensor gives what a loop over words gives."""

from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from anyner.encoding.config import Pooling
from anyner.encoding.pooling import pool, stretch_max, stretch_mean, take

HOWS: tuple[Pooling, ...] = get_args(Pooling)


def slowly(pieces: Tensor, first: Tensor, last: Tensor, how: Pooling) -> Tensor:
    rows = []
    for b in range(len(pieces)):
        for a, z in zip(first[b].tolist(), last[b].tolist(), strict=True):
            stretch = pieces[b, a : z + 1]
            ends = torch.stack([stretch[0], stretch[-1]])
            rows.append(
                {
                    "first": stretch[0],
                    "max": stretch.amax(0),
                    "mean": stretch.mean(0),
                    "first_last_max": ends.amax(0),
                    "first_last_mean": ends.mean(0),
                }[how]
            )
    return torch.stack(rows).view(*first.shape, -1)


def drawn(seed: int, batch: int, size: int, words: int, longest: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    pieces = torch.randn(batch, size, 3, generator=generator)
    first = torch.randint(0, size, (batch, words), generator=generator)
    length = torch.randint(1, longest + 1, (batch, words), generator=generator)
    return pieces, first, (first + length - 1).clamp(max=size - 1)


@given(st.integers(0, 999), st.integers(1, 3), st.integers(1, 40), st.integers(1, 40), st.sampled_from(HOWS))
def test_pooling_equals_a_loop(seed: int, batch: int, size: int, longest: int, how: Pooling) -> None:
    pieces, first, last = drawn(seed, batch, size, 1 + seed % 12, longest)
    most = int((last - first).max()) + 1
    torch.testing.assert_close(pool(pieces, first, last, how, most), slowly(pieces, first, last, how), atol=2e-5, rtol=0)


@pytest.mark.parametrize("longest", range(1, 18))
def test_the_maximum_holds_for_every_length_up_to_the_longest(longest: int) -> None:
    pieces = torch.randn(1, 20, 2, generator=torch.Generator().manual_seed(longest))
    pairs = [(a, a + n - 1) for n in range(1, longest + 1) for a in range(20 - n + 1)]
    first, last = (torch.tensor([[pair[i] for pair in pairs]]) for i in (0, 1))
    assert torch.equal(stretch_max(pieces, first, last, longest), slowly(pieces, first, last, "max"))


@pytest.mark.parametrize("how", HOWS)
def test_gradients_are_those_of_the_loop(how: Pooling) -> None:
    pieces, first, last = drawn(7, 2, 12, 6, 5)
    weights = torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(1))
    grads = []
    for made in (lambda x: pool(x, first, last, how, 5), lambda x: slowly(x, first, last, how)):
        leaf = pieces.clone().requires_grad_()
        (made(leaf) * weights).sum().backward()
        assert leaf.grad is not None
        grads.append(leaf.grad)
    assert grads[0].abs().sum() > 0
    if how == "first_last_max":  # a word of one piece: a maximum of two equal values shares the gradient either way
        assert torch.allclose(grads[0].sum(), grads[1].sum(), atol=1e-5)
    torch.testing.assert_close(grads[0], grads[1], atol=1e-5, rtol=0)


def test_the_mean_is_taken_in_float32_and_given_back_in_the_type_of_the_pieces() -> None:
    pieces = torch.full((1, 512, 1), 1.0, dtype=torch.bfloat16)
    mean = stretch_mean(pieces, torch.tensor([[500]]), torch.tensor([[511]]))
    assert mean.dtype == torch.bfloat16
    assert mean.item() == 1.0  # a running sum in bfloat16 stands still at 256


def test_take_gathers_rows() -> None:
    rows = torch.arange(12.0).view(2, 3, 2)
    assert take(rows, torch.tensor([[2, 0], [1, 1]])).tolist() == [[[4, 5], [0, 1]], [[8, 9], [8, 9]]]
