"""Windows -> one padded batch of tensors, with every length known on the host, so that nothing waits for the device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anyner.encoding.arrays import arrays_of
from anyner.encoding.examples import Example, gold_of
from anyner.encoding.gold import Gold, SoftLabels
from anyner.encoding.pieces import Frame
from anyner.encoding.shapes import ShapeVocabulary
from anyner.text.windows import Window


@dataclass(frozen=True, slots=True)
class Batch:
    """B windows, padded: S pieces, M words."""

    piece_ids: Tensor  # (B, S)
    piece_mask: Tensor  # (B, S) bool: padding is False
    first_piece: Tensor  # (B, M) index of the word's first piece
    last_piece: Tensor  # (B, M) index of its last piece, inclusive
    word_mask: Tensor  # (B, M) bool
    packed: Tensor  # (N,) the words in the order of a recurrent layer: all first ones, those of the longest row before others
    unpacked: Tensor  # (B, M) the inverse of that order; 0 for padding
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
    """The padded batch of `arrays_of` in tensors."""
    arrays = arrays_of(windows, frame, shapes)
    packed, unpacked = _packing(arrays.lengths, arrays.word_mask)
    return Batch(
        piece_ids=torch.from_numpy(arrays.piece_ids),
        piece_mask=torch.from_numpy(arrays.piece_mask),
        first_piece=torch.from_numpy(arrays.first_piece),
        last_piece=torch.from_numpy(arrays.last_piece),
        word_mask=torch.from_numpy(arrays.word_mask),
        packed=torch.from_numpy(packed),
        unpacked=torch.from_numpy(unpacked),
        lengths=tuple(arrays.lengths.tolist()),
        piece_lengths=tuple(arrays.piece_lengths.tolist()),
        most_pieces=arrays.most_pieces,
        has_cls=arrays.has_cls,
        windows=arrays.windows,
        shapes=torch.from_numpy(arrays.shapes) if arrays.shapes is not None else None,
    )


def _packing(lengths: NDArray[np.int64], mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where in the flattened rows each word of a packed sequence is, and the inverse.

    torch's own packing copies slice by slice, which takes the host longer than the recurrent layer takes the device.
    """
    longest_first = np.argsort(-lengths, kind="stable")  # (B,)
    place, row = np.nonzero(mask[longest_first].T)  # (N,) each
    packed = longest_first[row] * mask.shape[1] + place  # (N,)
    unpacked = np.zeros(mask.size, dtype=np.int64)
    unpacked[packed] = np.arange(len(packed))
    return packed, unpacked.reshape(mask.shape)


def training_batch(examples: Sequence[Example], frame: Frame, shapes: ShapeVocabulary | None = None) -> Batch:
    """The padded batch with its gold entities."""
    return replace(batch_of([example.window for example in examples], frame, shapes), gold=gold_of(examples))


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
