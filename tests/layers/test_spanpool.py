"""Vectors of spans: tables against a loop over words."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from anyner.layers.spanpool import SpanMaxima, Spans

spans = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 36), st.integers(0, 36)), min_size=1, max_size=20)


def words_of(seed: int, count: int) -> torch.Tensor:
    return torch.randn(3, count, 4, generator=torch.Generator().manual_seed(seed))


@given(spans, st.integers(1, 37), st.integers(0, 9))
def test_the_maximum_of_a_span_is_that_of_its_words(drawn: list[tuple[int, int, int]], count: int, seed: int) -> None:
    words = words_of(seed, count)
    ends = [(b, min(i % count, j % count), max(i % count, j % count)) for b, i, j in drawn]
    flat = Spans(*(torch.tensor(column) for column in zip(*ends, strict=True)))
    expected = torch.stack([words[b, first : last + 1].amax(0) for b, first, last in ends])
    assert torch.equal(SpanMaxima(words, count).of(flat), expected)
    shortest = SpanMaxima(words, max(last - first + 1 for _, first, last in ends))
    assert torch.equal(shortest.of(flat), expected)


def test_spans_are_chosen_by_an_index_or_a_mask() -> None:
    spans = Spans(torch.tensor([0, 0, 1]), torch.tensor([1, 2, 3]), torch.tensor([4, 5, 6]))
    assert len(spans) == 3
    assert spans[torch.tensor([True, False, True])].last.tolist() == [4, 6]
    assert spans[torch.tensor([2, 0])].first.tolist() == [3, 1]
