"""Outlines say where an entity and its first and last fragments begin and end, as a walk over its words does."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from anyner.layers.outline import outlined

ENTITIES = st.lists(st.sets(st.integers(0, 9), min_size=1, max_size=6), min_size=1, max_size=5)


@given(ENTITIES, st.integers(0, 3))
def test_they_are_those_of_a_walk_over_the_words(entities: list[set[int]], room: int) -> None:
    width = max(map(len, entities)) + room
    rows = [sorted(words) for words in entities]
    padded = torch.tensor([[*row, *([7] * (width - len(row)))] for row in rows])  # what is beyond the size means nothing
    found = outlined(torch.arange(len(rows)), padded, torch.tensor([len(row) for row in rows]))
    for number, row in enumerate(rows):
        first_end = next(word for word in row if word + 1 not in row)
        last_start = next(word for word in reversed(row) if word - 1 not in row)
        ends = (first_end, last_start) if first_end != row[-1] else (row[-1], row[0])
        own = [int(column[number]) for column in (found.first, found.first_end, found.last_start, found.last)]
        assert own == [row[0], *ends, row[-1]]
        assert bool(found.gaps[number]) == (row[-1] - row[0] + 1 != len(row))
    first, last = found.fragments
    assert torch.equal(first.last, found.first_end) and torch.equal(last.first, found.last_start)
