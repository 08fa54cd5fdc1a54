"""The BiLSTM over the words of a batch: on packed words, or on padded rows by a plain LSTM for each direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence

from anyner.encoding.batch import Batch
from anyner.encoding.pooling import take

OneWay = Callable[[Tensor, Sequence[Tensor], bool], Tensor]
"""Runs one direction of one layer on rows (B, M, d), with its weights, in training or not: (B, M, h)."""
_ROWS, _WIDTH, _MOST_ROWS = 8, 128, 128
"""For cuDNN's persistent kernels, rows and widths must be multiples of the first two; torch uses them for at most 128 rows."""


def packed(lstm: nn.LSTM, words: Tensor, batch: Batch) -> Tensor:
    """Runs on packed words. (B, M, d) -> (B, M, 2 h); values at padding are meaningless."""
    rows = words.flatten(0, 1).index_select(0, batch.packed)  # (N, d)
    predicting = rows.is_cuda and torch.is_autocast_enabled("cuda") and not torch.is_grad_enabled()
    kernel = _kernel(lstm.hidden_size, rows.device) if predicting else None
    if kernel is not None:
        output = kernel(lstm, rows, batch.lengths)  # (N, 2 h)
    else:
        output = lstm(PackedSequence(rows, torch.from_numpy(words_at(batch.lengths))))[0].data
    return output.index_select(0, batch.unpacked.flatten()).view(*batch.unpacked.shape, -1)


def words_at(lengths: Sequence[int]) -> NDArray[np.int64]:
    """How many sentences have a word at each position, on the host: the batch sizes of a packed sequence."""
    return np.bincount(lengths)[::-1].cumsum()[::-1][1:].copy()


@cache
def _kernel(hidden: int, device: torch.device) -> Callable[[nn.LSTM, Tensor, Sequence[int]], Tensor] | None:
    """The BiLSTM in one kernel. None without Triton, or if it cannot compile here, as without a C compiler."""
    try:
        from anyner.encoding.lstm_kernel import bilstm

        example = nn.LSTM(1, hidden, bidirectional=True, device="meta").to_empty(device=device)  # draws no numbers
        bilstm(example, torch.zeros(1, 1, device=device), [1])
    except Exception:  # Triton's errors have no common base
        return None
    return bilstm


def one_way(rows: Tensor, weights: Sequence[Tensor], training: bool) -> Tensor:
    start = rows.new_zeros(1, rows.shape[0], weights[1].shape[1])
    return torch.lstm(rows, (start, start), list(weights), True, 1, 0.0, training, False, True)[0]


def padded(lstm: nn.LSTM, words: Tensor, mask: Tensor, run: OneWay = one_way) -> Tensor:
    """The same without packing, which a graph does not support: for the backward direction each row is reversed."""
    length, place = mask.sum(1, keepdim=True), torch.arange(words.shape[1], device=words.device)  # (B, 1), (M,)
    backwards = torch.where(place < length, length - 1 - place, place)  # (B, M)
    for layer in range(lstm.num_layers):
        if layer and lstm.training:
            words = functional.dropout(words, lstm.dropout)
        sides = []
        for suffix in ("", "_reverse"):
            weights = [getattr(lstm, f"{name}_l{layer}{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            own = run(take(words, backwards) if suffix else words, weights, lstm.training)  # (B, M, h)
            sides.append(take(own, backwards) if suffix else own)
        words = torch.cat(sides, dim=-1)
    return words


def can_persist(words: Tensor) -> bool:
    """Whether cuDNN has persistent kernels for words (B, M, d): in half precision, on a GPU."""
    return words.is_cuda and torch.is_autocast_enabled("cuda") and len(words) <= _MOST_ROWS


def persistent(lstm: nn.LSTM, words: Tensor, mask: Tensor) -> Tensor:
    """The same with one kernel per direction, where packing takes several for every word.

    For training: the step time of a small model is dominated by kernel launches.
    """
    more = -len(words) % _ROWS
    rows, row_mask = functional.pad(words, (0, 0, 0, 0, 0, more)), functional.pad(mask, (0, 0, 0, more))
    return padded(lstm, rows, row_mask, _widened)[: len(words)]


def _widened(rows: Tensor, weights: Sequence[Tensor], training: bool) -> Tensor:
    """Pads the LSTM and its input with zeros; a unit without weights stays 0."""
    width, hidden = rows.shape[-1], weights[1].shape[1]
    more, wider = -hidden % _WIDTH, -width % _WIDTH
    padding = ((0, wider, 0, more), (0, more, 0, more), (0, more), (0, more))
    gates = [functional.pad(one.view(4, hidden, *one.shape[1:]), pad) for one, pad in zip(weights, padding, strict=True)]
    kind = torch.float16 if rows.is_cuda else rows.dtype
    # one buffer in cuDNN's order, or it would copy the weights into one and warn of it
    parts = torch.split(torch.cat([one.flatten() for one in gates]).to(kind), [one.numel() for one in gates])
    own = [part.view(-1, *one.shape[2:]) for part, one in zip(parts, gates, strict=True)]
    with torch.autocast(rows.device.type, enabled=False):
        return one_way(functional.pad(rows, (0, wider)).to(kind), own, training)[..., :hidden].to(rows.dtype)
