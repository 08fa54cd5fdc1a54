"""Windows -> the padded arrays of one batch, with every length. numpy only: any runtime makes its own tensors from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from anyner.encoding.pieces import Frame
from anyner.encoding.shapes import UNKNOWN, ShapeVocabulary
from anyner.text.windows import Pieces, Window

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BatchArrays:
    """B windows, padded: S pieces, M words."""

    piece_ids: Integers  # (B, S)
    piece_mask: Flags  # (B, S) padding is False
    first_piece: Integers  # (B, M) index of the word's first piece
    last_piece: Integers  # (B, M) index of its last piece, inclusive
    word_mask: Flags  # (B, M)
    shapes: Integers | None  # (B, M) rows of the words' shapes, if the encoder reads them
    lengths: Integers  # (B,) words
    piece_lengths: Integers  # (B,) pieces, special ones included
    most_pieces: int
    """Pieces of the batch's longest word."""
    has_cls: bool
    """Whether each row starts with a special piece such as [CLS]."""
    windows: tuple[Window, ...]


def arrays_of(windows: Sequence[Window], frame: Frame, shapes: ShapeVocabulary | None = None) -> BatchArrays:
    """The padded batch; a row is prefix, context before, the words, suffix, context after.

    A separator stands between a window and its context, and before the first word of a line. `shapes` are the encoder's.
    """
    separator = frame.suffix[-1:]
    starts = [(*frame.prefix, *window.before, *(separator if window.before else ())) for window in windows]
    ends = [(*frame.suffix, *window.after, *(separator if window.after else ())) for window in windows]
    rows = [[*s, *_own_pieces(w, separator), *e] for s, w, e in zip(starts, windows, ends, strict=True)]
    lengths = np.array([len(window.pieces) for window in windows])  # (B,)
    piece_lengths = np.array([len(row) for row in rows])  # (B,)
    first, last = _word_pieces(windows, lengths, np.array([len(start) for start in starts]), len(separator))
    word_mask = np.arange(lengths.max()) < lengths[:, None]
    piece_mask = np.arange(piece_lengths.max()) < piece_lengths[:, None]
    flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(piece_lengths.sum()))
    return BatchArrays(
        piece_ids=_padded(flat, piece_mask, frame.pad),
        piece_mask=piece_mask,
        first_piece=_padded(first, word_mask, 0),
        last_piece=_padded(last, word_mask, 0),
        word_mask=word_mask,
        shapes=_padded(shapes.rows(windows), word_mask, UNKNOWN) if shapes is not None else None,
        lengths=lengths,
        piece_lengths=piece_lengths,
        most_pieces=int((last - first).max()) + 1,
        has_cls=bool(frame.prefix),
        windows=tuple(windows),
    )


def _own_pieces(window: Window, separator: Pieces) -> Iterable[int]:
    """The pieces of the window's words, with separators between its lines."""
    if not window.line_starts:
        return chain.from_iterable(window.pieces)
    stops = [place for place in window.line_starts if place]
    parts = [window.pieces[start:stop] for start, stop in zip([0, *stops], [*stops, len(window.pieces)], strict=True)]
    return chain(*parts[0], *chain.from_iterable((separator, *part) for part in parts[1:]))


def _word_pieces(windows: Sequence[Window], lengths: Integers, before: Integers, separator: int) -> tuple[Integers, Integers]:
    """First and last piece of every word of the batch, flat; `before` counts the pieces in front of each window's words.

    `separator` is the number of pieces between two lines.
    """
    words = chain.from_iterable(window.pieces for window in windows)
    sizes = np.fromiter(map(len, words), dtype=np.int64, count=int(lengths.sum()))
    separators = np.zeros_like(sizes)
    for window, offset in zip(windows, np.cumsum(lengths) - lengths, strict=True):
        separators[[offset + place for place in window.line_starts if place]] = separator
    stops = np.cumsum(sizes + separators)  # over the whole batch
    row_starts = np.concatenate([[0], stops[np.cumsum(lengths) - 1]])[:-1]  # (B,) pieces of all windows before this one
    stops += np.repeat(before - row_starts, lengths)
    return stops - sizes, stops - 1


def _padded(values: Integers, mask: Flags, fill: int) -> Integers:
    padded = np.full(mask.shape, fill, dtype=np.int64)
    padded[mask] = values
    return padded
