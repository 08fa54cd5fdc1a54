"""Windows -> batches of similar length within a token budget. Sorting by length halves the work of a bulk prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anyner.text.windows import Window

_OWN_WEIGHT = 2
"""Extra weight of a window's own pieces in sorting. With one neighbouring sentence on each side, 2 saves the head a
quarter of its padding and costs the encoder a fifth more; without context it changes nothing."""


def window_size(window: Window) -> int:
    """Pieces of the window that go through the encoder, without special ones."""
    return sum(map(len, window.pieces)) + len(window.line_starts) + len(window.before) + len(window.after)


def likeness(window: Window, padded: bool) -> int:
    """The sort key: windows with similar keys share a batch; with equal ones if batches must not be padded.

    Context goes through the encoder only; a window's own words go through the head as well, so padding them costs more.
    """
    return window_size(window) + (_OWN_WEIGHT * sum(map(len, window.pieces)) if padded else 0)


def longest_first(windows: Sequence[Window], padded: bool = True) -> list[int]:
    """The indices of the windows, longest first; windows of equal size are adjacent if batches must not be padded."""
    alike = [likeness(window, padded) for window in windows]
    return sorted(range(len(windows)), key=alike.__getitem__, reverse=True)


def batches(
    sizes: Sequence[int],
    order: Sequence[int],
    tokens: int,
    most: int | None = None,
    counts: Sequence[int] | None = None,
    *,
    padded: bool = True,
) -> Iterator[list[int]]:
    """Splits `order` (indices into `sizes`) into runs whose padded size (longest times number) stays within `tokens`.

    `most` limits the windows of a batch, or the sum of their `counts`. A window that alone exceeds a limit gets its own batch.
    Without padding, all windows of a batch have the same size.
    """
    batch: list[int] = []
    longest = counted = 0
    for index in order:
        larger, own = max(longest, sizes[index]), counts[index] if counts is not None else 1
        full = larger * (len(batch) + 1) > tokens or (most is not None and counted + own > most)
        if batch and (full or (not padded and sizes[index] != longest)):
            yield batch
            batch, larger, counted = [], sizes[index], 0
        batch.append(index)
        longest, counted = larger, counted + own
    if batch:
        yield batch
