"""Windows -> one padded batch, with every length known on the host, so that nothing waits for the device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anyner.encoding.examples import Example, gold_of
from anyner.encoding.gold import Gold, SoftLabels
from anyner.encoding.pieces import Frame
from anyner.encoding.shapes import UNKNOWN, ShapeVocabulary
from anyner.text.windows import Pieces, Window

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Batch:
    """B windows, padded: S pieces, M words."""

    piece_ids: Tensor  # (B, S)
    piece_mask: Tensor  # (B, S) bool: padding is False
    first_piece: Tensor  # (B, M) index of the word's first piece
    last_piece: Tensor  # (B, M) index of its last piece, inclusive
    word_mask: Tensor  # (B, M) bool
    longest_first: Tensor  # (B,) the rows sorted by falling number of words, for a recurrent layer
    in_place: Tensor  # (B,) the inverse of that order
    lengths: tuple[int, ...]
    """Words of each window, on the host."""
    piece_lengths: tuple[int, ...]
    """Pieces of each window, special ones included, on the host."""
    most_pieces: int
    """Pieces of the batch's longest word, on the host."""
    has_cls: bool
    """Whether each row starts with a special piece such as [CLS]."""
    windows: tuple[Window, ...]
    gold: Gold | None = None
    shapes: Tensor | None = None  # (B, M) rows of the words' shapes, if the encoder reads them

    def __len__(self) -> int:
        return len(self.lengths)

    def to(self, device: torch.device) -> Batch:
        """On the device, by one asynchronous copy for all numbers and one for all masks."""
        if device.type == "cpu":
            return self
        soft_labels = self.gold.soft_labels if self.gold is not None else None
        held = (self, self.gold, soft_labels)
        tensors = [(n, name, tensor) for n, record in enumerate(held) for name, tensor in _tensors_in(record)]
        on_device: list[dict[str, Any]] = [{}, {}, {}]
        for masks in (False, True):
            alike = [(n, name, tensor) for n, name, tensor in tensors if (tensor.dtype == torch.bool) == masks]
            copies = _copied([tensor for *_, tensor in alike], device)
            for (n, name, _), copy in zip(alike, copies, strict=True):
                on_device[n][name] = copy
        if soft_labels is not None:
            on_device[1]["soft_labels"] = replace(soft_labels, **on_device[2])
        if self.gold is not None:
            on_device[0]["gold"] = replace(self.gold, **on_device[1])
        return replace(self, **on_device[0])


def batch_of(windows: Sequence[Window], frame: Frame, shapes: ShapeVocabulary | None = None) -> Batch:
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
    longest_first = np.argsort(-lengths, kind="stable")  # (B,)
    flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(piece_lengths.sum()))
    return Batch(
        piece_ids=_padded(flat, piece_mask, frame.pad),
        piece_mask=torch.from_numpy(piece_mask),
        first_piece=_padded(first, word_mask, 0),
        last_piece=_padded(last, word_mask, 0),
        word_mask=torch.from_numpy(word_mask),
        longest_first=torch.from_numpy(longest_first),
        in_place=torch.from_numpy(np.argsort(longest_first)),
        lengths=tuple(lengths.tolist()),
        piece_lengths=tuple(piece_lengths.tolist()),
        most_pieces=int((last - first).max()) + 1,
        has_cls=bool(frame.prefix),
        windows=tuple(windows),
        shapes=_padded(shapes.rows(windows), word_mask, UNKNOWN) if shapes is not None else None,
    )


def _own_pieces(window: Window, separator: Pieces) -> Iterable[int]:
    """Of the window's words, with separators between its lines."""
    if not window.line_starts:
        return chain.from_iterable(window.pieces)
    stops = [place for place in window.line_starts if place]
    parts = [window.pieces[start:stop] for start, stop in zip([0, *stops], [*stops, len(window.pieces)], strict=True)]
    return chain(*parts[0], *chain.from_iterable((separator, *part) for part in parts[1:]))


def _word_pieces(windows: Sequence[Window], lengths: Integers, before: Integers, separator: int) -> tuple[Integers, Integers]:
    """First and last piece of every word of the batch, flat; `before` counts the pieces in front of each window's words.

    `separator` counts those between two lines.
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


def training_batch(examples: Sequence[Example], frame: Frame, shapes: ShapeVocabulary | None = None) -> Batch:
    """The padded batch with its gold entities."""
    return replace(batch_of([example.window for example in examples], frame, shapes), gold=gold_of(examples))


def _padded(values: Integers, mask: Flags, fill: int) -> Tensor:
    padded = np.full(mask.shape, fill, dtype=np.int64)
    padded[mask] = values
    return torch.from_numpy(padded)


def _tensors_in(record: Batch | Gold | SoftLabels | None) -> Iterator[tuple[str, Tensor]]:
    for name in record.__slots__ if record is not None else ():
        if isinstance(tensor := getattr(record, name), Tensor):
            yield name, tensor


def _copied(tensors: Sequence[Tensor], device: torch.device) -> list[Tensor]:
    """The tensors, all of one type, on the device: views into one buffer that is copied at once."""
    joined = torch.cat([tensor.flatten() for tensor in tensors])
    if device.type == "cuda":
        joined = joined.pin_memory()  # page-locked: the copy runs beside other work
    joined = joined.to(device, non_blocking=True)
    parts = torch.split(joined, [tensor.numel() for tensor in tensors])
    return [part.view(tensor.shape) for part, tensor in zip(parts, tensors, strict=True)]
