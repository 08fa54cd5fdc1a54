"""Bipartite matching on the host: which prediction learns which entity, at the least total cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]
NOTHING = -1


def one_to_one(cost: Floats) -> Integers:
    """cost (K, N) -> for each of the K rows its column or NOTHING: every column once if K >= N."""
    assigned = np.full(len(cost), NOTHING, dtype=np.int64)
    rows, columns = linear_sum_assignment(cost)
    assigned[rows] = columns
    return assigned


def repeated(cost: Floats) -> Integers:
    """cost (K, N) -> for each of the K rows a column: all columns equally often, the first K mod N of them once more.

    A transport problem on N columns; scipy solves it on K copies of them faster than anything here could on N.
    """
    rows, columns = cost.shape
    if columns >= rows:
        return one_to_one(cost)  # K of the columns, those that cost least
    copies = np.arange(rows) % columns
    columns_of_rows: Integers = copies[one_to_one(cost[:, copies])]
    return columns_of_rows
