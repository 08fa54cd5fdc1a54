"""The parts of long windows that are denoised together. numpy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyner.text.windows import Window

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Segments:
    """The parts of long windows that are denoised together, R in all: K spans suit one sentence, not a long window.

    Neighbours overlap by half. An entity belongs to the segment in whose core its middle lies; cores do not overlap.
    """

    window: Integers  # (R,)
    start: Integers  # (R,) first word, in the window
    length: Integers  # (R,) words
    core_start: Integers  # (R,) in the window
    core_stop: Integers  # (R,)

    @classmethod
    def of(cls, lengths: tuple[int, ...], most: int) -> Segments:
        """Segments of at most `most` words, of windows with these lengths."""
        half = most // 2  # neighbours share at least this many words, and are evenly spread
        counts = [max(1, -(-(length - half) // (most - half))) for length in lengths]
        starts = [np.linspace(0, max(0, length - most), count).round() for length, count in zip(lengths, counts, strict=True)]
        window = np.repeat(np.arange(len(lengths)), counts)
        start, whole = np.concatenate(starts).astype(np.int64), np.array(lengths)[window]
        length = np.minimum(most, whole)
        same = window[1:] == window[:-1]
        middle = (start[1:] + (start + length)[:-1]) // 2  # of the overlap with the next segment
        core_start = np.concatenate([[0], np.where(same, middle, 0)])
        core_stop = np.concatenate([np.where(same, middle, whole[:-1]), whole[-1:]])
        return cls(window, start, length, core_start, core_stop)

    def places(self) -> tuple[Flags, Integers]:
        """Which positions of each segment, padded to the longest, are words, and their positions in the window: (R, T) each."""
        number = np.arange(self.length.max())
        inside: Flags = number < self.length[:, None]
        return inside, np.where(inside, self.start[:, None] + number, 0)

    def windows(self, windows: Sequence[Window]) -> tuple[Window, ...]:
        """The segments as windows of their own."""
        parts = zip(self.window.tolist(), self.start.tolist(), (self.start + self.length).tolist(), strict=True)
        return tuple(
            windows[window] if stop - start == len(windows[window].words) else windows[window].part(start, stop)
            for window, start, stop in parts
        )

    def in_windows(self, place: Integers) -> tuple[Integers, Flags]:
        """Spans of segments (P, 4), as the head proposes them: in words of windows, and whether they lie in the core (P,)."""
        segment, label, first, last = place.T
        first, last = first + self.start[segment], last + self.start[segment]
        middle = (first + last) // 2
        core = (middle >= self.core_start[segment]) & (middle < self.core_stop[segment])
        return np.column_stack([self.window[segment], label, first, last]), core
