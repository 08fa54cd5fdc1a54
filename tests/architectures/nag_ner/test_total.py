"""The sum over all rows of words is that of trying everything, and its gradient is theirs."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_exact import everything, random_blocks, random_links

from anyner.architectures.nag_ner.exact import best_words
from anyner.architectures.nag_ner.total import NONE, log_total

few = st.integers(1, 6)


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 2**20),
    words=few,
    units=few,
    contiguous=st.booleans(),
    gap=st.sampled_from([0.0, 0.7, -0.4]),
    linked=st.booleans(),
)
def test_it_is_the_sum_of_trying_everything(
    *, seed: int, words: int, units: int, contiguous: bool, gap: float, linked: bool
) -> None:
    blocks, links = random_blocks(seed, 3, words, units), random_links(seed, 3, words) if linked else None
    cost = None if contiguous else torch.full((units,), gap)
    total = log_total(*blocks, cost, largest=3, links=links)
    for block, (placed, sizes, end) in enumerate(zip(*blocks, strict=True)):
        own = links[block] if links is not None else None
        scores = [score for score, _ in everything(placed, sizes, end, contiguous=contiguous, gap=gap, links=own)]
        if scores:
            assert float(total[block]) == pytest.approx(math.log(sum(map(math.exp, scores))), abs=1e-3)
        else:
            assert float(total[block]) < NONE / 2


@torch.no_grad()
def test_many_blocks_are_summed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks, links, gap = random_blocks(3, 7, 5, 4), random_links(3, 7, 5), torch.full((4,), 0.3)
    at_once = log_total(*blocks, gap, largest=3, links=links)
    monkeypatch.setattr("anyner.architectures.nag_ner.total.LARGEST", 2 * 5 * 5)
    assert torch.equal(log_total(*blocks, gap, largest=3, links=links), at_once)


def test_a_gap_can_cost_more_behind_more_units() -> None:
    placed, end = torch.zeros(1, 4, 3), torch.full((1, 4), -1e9)
    end[:, 3] = 0.0  # three words, the first of them the head: 0 1 2, 0 1 3, 0 2 3
    total = log_total(placed, torch.ones(1, 4, dtype=torch.long), end, torch.tensor([9.0, 1.0, 2.0]), largest=1)
    assert float(total) == pytest.approx(math.log(1 + math.exp(-2) + math.exp(-1)), abs=1e-5)


def test_probabilities_of_all_rows_sum_to_one() -> None:
    blocks = random_blocks(1, 4, 5, 6, missing=0.0)
    gap = torch.full((6,), 0.5)
    best = best_words(*blocks, gap, count=40)
    shares = (best.score - log_total(*blocks, gap, largest=3)[:, None]).exp()
    assert torch.allclose(shares.sum(1), torch.ones(4), atol=1e-4)


@pytest.mark.parametrize("contiguous", [True, False])
def test_gradients_are_finite_where_much_is_impossible(contiguous: bool) -> None:
    placed, sizes, end = random_blocks(2, 5, 6, 5, missing=0.6)
    placed[0] = -torch.inf
    placed, end, gap = placed.requires_grad_(), end.requires_grad_(), torch.zeros(5, requires_grad=True)
    log_total(placed, sizes, end, None if contiguous else gap, largest=3).sum().backward()
    assert placed.grad is not None and end.grad is not None
    assert placed.grad.isfinite().all() and end.grad.isfinite().all()
    assert placed.grad[1:].abs().sum() > 0
    assert contiguous or (gap.grad is not None and gap.grad.isfinite().all())
