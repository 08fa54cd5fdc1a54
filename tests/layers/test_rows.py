"""Rows know where they lie, and a grid gives back what was laid out."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from anyner.layers.rows import Rows

CPU = torch.device("cpu")


@given(st.lists(st.integers(0, 4), max_size=5), st.integers(1, 3))
def test_rows_know_their_sentence_and_their_place(counts: list[int], times: int) -> None:
    rows, most = Rows.of_counts(counts, CPU), max(counts, default=0)
    expected = [(sentence, number) for sentence, count in enumerate(counts) for number in range(count)]
    assert len(rows) == len(expected)
    assert rows.sentence.tolist() == [sentence for sentence, _ in expected]
    assert rows.place.tolist() == [sentence * most + number for sentence, number in expected]
    assert rows.filled == (len(set(counts)) < 2)
    more = rows.repeated(times)
    same = Rows.of_counts([count * times for count in counts], CPU)
    assert torch.equal(more.sentence, same.sentence)
    assert torch.equal(more.place, same.place)
    assert (more.sentences, more.most, more.filled) == (same.sentences, same.most, same.filled)


@given(st.lists(st.lists(st.booleans(), max_size=4), max_size=5))
def test_some_rows_are_packed_as_if_there_were_no_others(kept: list[list[bool]]) -> None:
    rows = Rows.of_counts([len(own) for own in kept], CPU)
    chosen = torch.tensor([own for each in kept for own in each], dtype=torch.bool).nonzero()[:, 0]
    packed, same = rows[chosen].packed(), Rows.of_counts([sum(own) for own in kept], CPU)
    assert torch.equal(packed.sentence, same.sentence) and torch.equal(packed.place, same.place)
    assert (packed.sentences, packed.most) == (same.sentences, same.most)


@torch.no_grad()
def test_a_grid_gives_back_what_was_laid_out() -> None:
    states = torch.randn(6, 3, 5, generator=torch.Generator().manual_seed(0))
    for rows in (
        Rows.of_counts([3, 3], CPU),
        Rows.of_counts([1, 0, 5], CPU),
        Rows.of_counts([4, 4], CPU)[torch.tensor([7, 0, 2, 1, 5, 6])],
    ):
        grid = rows.to_grid(states)
        assert grid.shape == (rows.sentences, rows.most * 3, 5)
        assert torch.equal(rows.from_grid(grid, 3), states)
