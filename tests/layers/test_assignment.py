"""Assignments against every permutation."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyner.layers.assignment import NOTHING, one_to_one, repeated

sizes = st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(0, 99))


def drawn(rows: int, columns: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((rows, columns), dtype=np.float32)


@settings(deadline=None)
@given(sizes)
def test_one_to_one_is_the_cheapest_of_all(size: tuple[int, int, int]) -> None:
    rows, columns, seed = size
    cost = drawn(rows, columns, seed)
    assigned = one_to_one(cost)
    chosen = [(row, column) for row, column in enumerate(assigned.tolist()) if column != NOTHING]
    assert len(chosen) == min(rows, columns) == len({column for _, column in chosen})
    if rows >= columns:
        every = (sum(cost[row, column] for column, row in enumerate(order)) for order in permutations(range(rows), columns))
    else:
        every = (sum(cost[row, column] for row, column in enumerate(order)) for order in permutations(range(columns), rows))
    assert sum(cost[place] for place in chosen) == pytest.approx(min(every), rel=1e-5)


@settings(deadline=None)
@given(sizes)
def test_repeated_columns_cost_as_little_as_the_best_of_all_copies(size: tuple[int, int, int]) -> None:
    rows, columns, seed = size
    cost = drawn(rows, columns, seed)
    assigned = repeated(cost)
    if columns >= rows:
        assert assigned.tolist() == one_to_one(cost).tolist(), "not all columns: those that cost least"
        return
    copies = [row % columns for row in range(rows)]
    assert sorted(assigned.tolist()) == sorted(copies), "every column as often as any other, the first ones once more"
    every = (sum(cost[row, column] for row, column in enumerate(order)) for order in set(permutations(copies)))
    assert cost[np.arange(rows), assigned].sum() == pytest.approx(min(every), rel=1e-5)
