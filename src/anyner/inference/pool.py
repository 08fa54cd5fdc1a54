"""Windows that wait for their batch. A pool of several batches has windows of like length to put together."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from enum import Enum

from anyner.inference.batching import batches, likeness, window_size
from anyner.text.windows import Window


class Flush(Enum):
    """Among the texts of a stream: none follows for now, so everything held is run at once."""

    FLUSH = "flush"


FLUSH = Flush.FLUSH


@dataclass(frozen=True, slots=True)
class _Waiting:
    window: Window
    size: int
    alike: int


@dataclass(frozen=True, slots=True)
class PooledBatch:
    """Windows to run together, each with its number in the order in which they were added."""

    numbers: tuple[int, ...]
    windows: tuple[Window, ...]


class Pool:
    """Hands out batches of like windows, always with the oldest one in the next: so results come out in order and soon."""

    def __init__(self, tokens: int, extra: int) -> None:
        """`tokens`: most pieces of a batch, padding included; `extra`: pieces that every window has besides its own."""
        self.pieces = 0
        """Of all windows that wait, special pieces aside."""
        self.tokens = tokens
        self._extra = extra
        self._added = 0
        self._waiting: dict[int, _Waiting] = {}  # in the order in which they were added
        self._ordered: list[tuple[int, int]] = []  # likeness and number

    @property
    def oldest(self) -> Window | None:
        return next((waiting.window for waiting in self._waiting.values()), None)

    def add(self, window: Window) -> None:
        waiting = _Waiting(window, window_size(window), likeness(window))
        self._waiting[self._added] = waiting
        insort(self._ordered, (waiting.alike, self._added))
        self.pieces += waiting.size
        self._added += 1

    def take(self) -> PooledBatch:
        """The oldest window and those most like it, as many as one batch holds."""
        oldest, waiting = next(iter(self._waiting.items()))
        first = bisect_left(self._ordered, (waiting.alike, oldest))
        stop, longest = first + 1, waiting.size + self._extra
        while (nearer := self._nearer(waiting.alike, first, stop)) is not None:
            longest = max(longest, self._waiting[self._ordered[nearer][1]].size + self._extra)
            if longest * (stop - first + 1) > self.tokens:
                break
            first, stop = min(first, nearer), max(stop, nearer + 1)
        numbers = [number for _, number in self._ordered[first:stop]]
        del self._ordered[first:stop]
        return self._taken(numbers)

    def take_all(self) -> list[PooledBatch]:
        """Everything in as few batches as it needs, the one with the oldest window first."""
        numbers = [number for _, number in reversed(self._ordered)]
        sizes = [self._waiting[number].size + self._extra for number in numbers]
        plan = [[numbers[place] for place in batch] for batch in batches(sizes, range(len(sizes)), self.tokens)]
        self._ordered.clear()
        return [self._taken(batch) for batch in sorted(plan, key=min)]

    def _nearer(self, alike: int, first: int, stop: int) -> int | None:
        """Which neighbour of the stretch from `first` to `stop` is more like the oldest window; None when there is none."""
        below = alike - self._ordered[first - 1][0] if first else None
        above = self._ordered[stop][0] - alike if stop < len(self._ordered) else None
        if above is not None and (below is None or above <= below):
            return stop
        return None if below is None else first - 1

    def _taken(self, numbers: list[int]) -> PooledBatch:
        taken = [self._waiting.pop(number) for number in numbers]
        self.pieces -= sum(waiting.size for waiting in taken)
        return PooledBatch(tuple(numbers), tuple(waiting.window for waiting in taken))
