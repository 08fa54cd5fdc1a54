"""A pool of waiting windows, large enough to make batches of similar length."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from enum import Enum

from anyner.inference.batching import batches, likeness, window_size
from anyner.text.windows import Window


class Flush(Enum):
    """A marker in a stream of texts: no text follows for now, so run everything that waits."""

    FLUSH = "flush"


FLUSH = Flush.FLUSH


@dataclass(frozen=True, slots=True)
class PooledBatch:
    """Windows to run together, each with its number in the order in which they were added."""

    numbers: tuple[int, ...]
    windows: tuple[Window, ...]


class Pool:
    """Makes batches of similar windows. The next batch always holds the oldest window, so results come out in order and soon."""

    def __init__(self, tokens: int, extra: int) -> None:
        """`tokens`: most pieces of a batch, padding included; `extra`: pieces that every window has besides its own."""
        self.pieces = 0
        """Pieces of all waiting windows, without special ones."""
        self.tokens = tokens
        self._extra = extra
        self._added = 0
        self._waiting: dict[int, Window] = {}  # in the order in which they were added
        self._ordered: list[tuple[int, int, int]] = []  # likeness, number, size; new ones at the end until the next batch

    def add(self, window: Window) -> None:
        size = window_size(window)
        self._waiting[self._added] = window
        self._ordered.append((likeness(window), self._added, size))
        self.pieces += size
        self._added += 1

    def take(self) -> PooledBatch:
        """The oldest window and the most similar ones, as many as fit."""
        self._ordered.sort()
        oldest, window = next(iter(self._waiting.items()))
        first, stop = self._around(bisect_left(self._ordered, (likeness(window), oldest)))
        taken = self._ordered[first:stop]
        del self._ordered[first:stop]
        return self._batch([number for _, number, _ in taken], sum(size for *_, size in taken))

    def take_all(self) -> list[PooledBatch]:
        """All windows in as few batches as possible, the one with the oldest first."""
        ordered = sorted(self._ordered, reverse=True)
        self._ordered = []
        plan = batches([size + self._extra for *_, size in ordered], range(len(ordered)), self.tokens)
        taken = sorted(([ordered[place] for place in places] for places in plan), key=lambda batch: min(n for _, n, _ in batch))
        return [self._batch([number for _, number, _ in batch], sum(size for *_, size in batch)) for batch in taken]

    def _around(self, place: int) -> tuple[int, int]:
        """The largest slice of `_ordered` around a place that fits a batch, grown towards the nearer neighbour."""
        ordered = self._ordered
        alike, _, size = ordered[place]
        first, stop, longest = place, place + 1, size + self._extra
        while first or stop < len(ordered):
            upwards = not first or (stop < len(ordered) and ordered[stop][0] - alike <= alike - ordered[first - 1][0])
            size = ordered[stop if upwards else first - 1][2] + self._extra
            longest = max(longest, size)
            if longest * (stop - first + 1) > self.tokens:
                break
            if upwards:
                stop += 1
            else:
                first -= 1
        return first, stop

    def _batch(self, numbers: list[int], size: int) -> PooledBatch:
        self.pieces -= size
        return PooledBatch(tuple(numbers), tuple(map(self._waiting.pop, numbers)))
