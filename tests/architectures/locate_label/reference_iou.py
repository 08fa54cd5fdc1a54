"""The IoU of two spans, from the sets of their words."""

from __future__ import annotations

from collections.abc import Sequence


def reference_iou(one: Sequence[int], other: Sequence[int]) -> float:
    """Of spans given by their first and last word."""
    mine, theirs = set(range(one[0], one[1] + 1)), set(range(other[0], other[1] + 1))
    return len(mine & theirs) / len(mine | theirs)
