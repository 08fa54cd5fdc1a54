"""A pool of waiting windows, large enough to make batches of similar length."""

from __future__ import annotations

from bisect import bisect_left
from enum import Enum

from anyner.inference.batching import batches, likeness, window_size
from anyner.text.windows import Window


class Flush(Enum):
    """A marker in a stream of texts: no text follows for now, so run all that are waiting."""

    FLUSH = "flush"


FLUSH = Flush.FLUSH


class Pool:
    """Makes batches of similar windows. Windows are numbered in the order in which they are added.

    The next batch always holds the oldest window, so results come out in order and early.
    """

    def __init__(self, tokens: int, extra: int, *, padded: bool = True) -> None:
        """`tokens`: maximum pieces per batch, padding included; `extra`: special pieces of every window; `padded`: whether
        windows of different sizes may share a batch."""
        self.pieces = 0
        """Pieces of all waiting windows, without special ones."""
        self.tokens = tokens
        self.added = 0
        """Number of windows added so far."""
        self.padded = padded
        self._extra = extra
        self._waiting: dict[int, Window] = {}  # in the order in which they were added
        self._ordered: list[tuple[int, int, int]] = []  # likeness, number, size; new ones at the end until the next batch

    def add(self, window: Window) -> None:
        size = window_size(window)
        self._waiting[self.added] = window
        self._ordered.append((likeness(window, self.padded), self.added, size))
        self.pieces += size
        self.added += 1

    def take(self) -> dict[int, Window]:
        """The oldest window and the most similar ones, as many as fit in a batch."""
        self._ordered.sort()
        oldest, window = next(iter(self._waiting.items()))
        first, stop = self._around(bisect_left(self._ordered, (likeness(window, self.padded), oldest)))
        taken = self._ordered[first:stop]
        del self._ordered[first:stop]
        self.pieces -= sum(size for *_, size in taken)
        return {number: self._waiting.pop(number) for _, number, _ in taken}

    def take_all(self) -> list[dict[int, Window]]:
        """All windows in as few batches as possible, the one with the oldest first."""
        ordered, waiting = sorted(self._ordered, reverse=True), self._waiting
        self._ordered, self._waiting, self.pieces = [], {}, 0
        plan = batches([size + self._extra for *_, size in ordered], range(len(ordered)), self.tokens, padded=self.padded)
        taken = [[ordered[place][1] for place in places] for places in plan]
        return [{number: waiting[number] for number in numbers} for numbers in sorted(taken, key=min)]

    def _around(self, place: int) -> tuple[int, int]:
        """The largest slice of `_ordered` around a place that fits a batch, grown towards the nearer neighbour."""
        ordered = self._ordered
        alike, _, size = ordered[place]
        first, stop, longest = place, place + 1, size + self._extra
        while first or stop < len(ordered):
            upwards = not first or (stop < len(ordered) and ordered[stop][0] - alike <= alike - ordered[first - 1][0])
            size = ordered[stop if upwards else first - 1][2] + self._extra
            longest = max(longest, size)
            differs = not self.padded and ordered[stop if upwards else first - 1][0] != alike
            if differs or longest * (stop - first + 1) > self.tokens:
                break
            if upwards:
                stop += 1
            else:
                first -= 1
        return first, stop
