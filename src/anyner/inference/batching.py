"""Windows -> batches of like length within a budget of tokens. Sorting by length alone halves the work of a bulk prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anyner.text.windows import Window


def window_size(window: Window) -> int:
    """Pieces the window puts through the encoder, special ones aside."""
    return sum(map(len, window.pieces)) + len(window.before) + len(window.after)


def batches(sizes: Sequence[int], order: Sequence[int], tokens: int, most: int | None = None) -> Iterator[list[int]]:
    """Cuts `order` (indices into `sizes`) into runs whose padded size (longest times number) stays within `tokens`.

    A window larger than the budget gets a batch of its own. `most` limits the number in a batch.
    """
    batch: list[int] = []
    longest = 0
    for index in order:
        larger = max(longest, sizes[index])
        if batch and (larger * (len(batch) + 1) > tokens or len(batch) == most):
            yield batch
            batch, larger = [], sizes[index]
        batch.append(index)
        longest = larger
    if batch:
        yield batch
