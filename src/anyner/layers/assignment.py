"""Which prediction learns which entity: the cheapest assignment, on the host."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]
NOTHING = -1


def one_to_one(cost: Floats) -> Integers:
    """cost (K, N) -> for each of the K rows its column or NOTHING: every column once if K >= N, at the least total cost."""
    assigned = np.full(len(cost), NOTHING, dtype=np.int64)
    rows, columns = linear_sum_assignment(cost)
    assigned[rows] = columns
    return assigned


def shared_out(cost: Floats) -> Integers:
    """cost (K, N) -> for each of the K rows a column: all columns equally often, or once more, at the least total cost.

    The first K mod N columns are those that come once more. A transport problem on N columns; scipy solves it on K copies of
    them faster than anything here could on N.
    """
    rows, columns = cost.shape
    if columns >= rows:
        return one_to_one(cost)  # not all of them: those that cost least
    if columns == 1:
        return np.zeros(rows, dtype=np.int64)
    copies = np.arange(rows) % columns
    columns_of_rows: Integers = copies[one_to_one(cost[:, copies])]
    return columns_of_rows
