"""Pairs of words at spans are those of the whole table; what one pair is was said by the biaffine head's own test."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from anyner.layers.boundary_pairs import BoundaryPairs
from anyner.layers.spanpool import Spans


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 4), st.integers(1, 6), st.integers(1, 5), st.integers(0, 9), st.sampled_from([1, 40, 2**27]))
@torch.no_grad()
def test_spans_are_read_off_the_whole_table(sentences: int, words: int, kinds: int, number: int, largest: int) -> None:
    torch.manual_seed(number)
    pairs = BoundaryPairs(6, 4, kinds, dropout=0.5, lengths=3).eval()
    torch.nn.init.normal_(pairs.length.weight)
    states = torch.randn(sentences, words, 6)
    sentence, first, last = (torch.randint(high, (number,)) for high in (sentences, words, words))
    spans = Spans(sentence, first, last)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("anyner.layers.boundary_pairs.LARGEST", largest)
        found = pairs.at(pairs.as_boundaries(states), spans)
    assert found.shape == (number, kinds)
    assert torch.allclose(found, pairs(states)[sentence, :, first, last], atol=1e-5)


def test_rows_of_spans_are_listed_sentence_by_sentence() -> None:
    spans = Spans.of_rows(torch.tensor([[0, 1], [2, 3]]), torch.tensor([[4, 5], [6, 7]]))
    assert spans.sentence.tolist() == [0, 0, 1, 1]
    assert (spans.first.tolist(), spans.last.tolist()) == ([0, 1, 2, 3], [4, 5, 6, 7])
