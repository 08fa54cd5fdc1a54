"""Spans to points and back."""

import pytest
import torch

from anyner.architectures.diffusion_ner.state import StateKind, clean_state, spans_at

KINDS: list[StateKind] = ["width", "boundaries"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 2.5])
def test_every_span_of_every_length_comes_back(kind: StateKind, scale: float) -> None:
    for words in range(1, 201):
        first, last = torch.triu_indices(words, words)
        count = torch.tensor(words)
        state = clean_state(first, last, count, kind, scale)
        assert state.abs().max() <= scale + 1e-6
        again = spans_at(state, count, kind, scale)
        assert torch.equal(again[0], first)
        assert torch.equal(again[1], last)


@pytest.mark.parametrize("kind", KINDS)
def test_any_numbers_are_some_span(kind: StateKind) -> None:
    state = torch.randn(50, 40, 2, generator=torch.Generator().manual_seed(1)) * 9
    words = torch.arange(1, 51)[:, None]
    first, last = spans_at(state, words, kind, 1.0)
    assert (first >= 0).all()
    assert (first <= last).all()
    assert (last < words).all()
