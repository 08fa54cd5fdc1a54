"""A BiLSTM on a GPU by one kernel, for prediction: cuDNN launches several for every word of the longest sentence.

Each program runs some sentences in one direction from their first word to their last. Rows are packed as in `Batch.packed`, so
the words at one position of neighbouring sentences are neighbours in memory. Needs Triton, which torch installs for CUDA.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor, nn
from torch.nn import functional

from anyner.encoding.recurrent import words_at

_SENTENCES, _INPUTS, _WARPS = 16, 32, 8
"""Sentences of a program, inputs that it multiplies at once, and its warps. Needs at most 32 KB of shared memory for 512
hidden units; more warps and stages take a fifth less time on an H200, but need more."""
_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def bilstm(lstm: nn.LSTM, words: Tensor, lengths: Sequence[int], kind: torch.dtype = torch.bfloat16) -> Tensor:
    """Packed words (N, d) -> (N, 2 h). Products and outputs have this type, the cell states float32."""
    longest_first = np.sort(np.asarray(lengths))[::-1]
    begins = np.concatenate([[0], np.cumsum(words_at(lengths))])  # (T + 1,) the first row of each position
    plan = torch.from_numpy(np.concatenate([longest_first, begins]))
    plan = (plan.pin_memory() if words.is_cuda else plan).to(words.device, non_blocking=True)
    counts, starts = plan[: len(longest_first)], plan[len(longest_first) :]
    hidden, grid = lstm.hidden_size, (triton.cdiv(len(longest_first), _SENTENCES), 2)
    width = max(16, triton.next_power_of_2(hidden))
    for layer in range(lstm.num_layers):
        own = {name: [getattr(lstm, f"{name}_l{layer}{way}") for way in ("", "_reverse")] for name in _WEIGHTS}
        bias = torch.cat(own["bias_ih"]) + torch.cat(own["bias_hh"])
        with torch.autocast(words.device.type, enabled=False):
            gates = functional.linear(words.to(kind), torch.cat(own["weight_ih"]).to(kind), bias.to(kind))  # (N, 8 h)
        recurrent = torch.stack([one.t() for one in own["weight_hh"]]).to(kind).view(2, hidden, 4, hidden)
        recurrent = functional.pad(recurrent, (0, width - hidden, 0, 0, 0, -hidden % _INPUTS))  # (2, inner, 4, width)
        words = gates.new_empty(len(gates), 2 * hidden)  # (N, 2 h)
        sizes = {"hidden": hidden, "inner": recurrent.shape[1], "width": width, "rows": _SENTENCES, "inputs": _INPUTS}
        _kernel[grid](gates, recurrent, starts, counts, words, **sizes, num_warps=_WARPS)
    return words


@triton.jit  # type: ignore[untyped-decorator]
def _kernel(  # noqa: PLR0917
    gates: tl.tensor,  # (N, 2, 4, h) of the inputs, in torch's order: input, forget, cell, output
    recurrent: tl.tensor,  # (2, inner, 4, width) zero beyond h
    starts: tl.tensor,  # (T + 1,)
    counts: tl.tensor,  # (B,) words of each sentence, longest first
    output: tl.tensor,  # (N, 2, h)
    hidden: tl.constexpr,
    inner: tl.constexpr,
    width: tl.constexpr,
    rows: tl.constexpr,
    inputs: tl.constexpr,
) -> None:
    first, direction = tl.program_id(0) * rows, tl.program_id(1)
    row, unit, source = first + tl.arange(0, rows), tl.arange(0, width), tl.arange(0, inputs)
    steps = tl.load(counts + first).to(tl.int32)
    position = tl.where(direction == 0, 0, steps - 1)
    cell = tl.zeros((rows, width), dtype=tl.float32)
    before, sentences_before = tl.load(starts), tl.load(starts) * 0  # nothing precedes the first word
    for _ in range(steps):
        start = tl.load(starts + position)
        sentences = tl.load(starts + position + 1) - start
        present = (row < sentences)[:, None] & (unit < hidden)[None, :]  # (rows, width)
        own = gates + (start + row)[:, None] * (8 * hidden) + direction * 4 * hidden + unit[None, :]
        into = tl.load(own, mask=present, other=0.0).to(tl.float32)
        forget = tl.load(own + hidden, mask=present, other=0.0).to(tl.float32)
        new = tl.load(own + 2 * hidden, mask=present, other=0.0).to(tl.float32)
        out = tl.load(own + 3 * hidden, mask=present, other=0.0).to(tl.float32)
        for one in tl.range(0, inner, inputs, num_stages=1):
            known = (row < sentences_before)[:, None] & (one + source < hidden)[None, :]
            last = output + (before + row)[:, None] * (2 * hidden) + direction * hidden + (one + source)[None, :]
            state = tl.load(last, mask=known, other=0.0)  # (rows, inputs)
            weight = recurrent + (direction * inner + one + source)[:, None] * (4 * width) + unit[None, :]
            into = tl.dot(state, tl.load(weight), into)
            forget = tl.dot(state, tl.load(weight + width), forget)
            new = tl.dot(state, tl.load(weight + 2 * width), new)
            out = tl.dot(state, tl.load(weight + 3 * width), out)
        cell = tl.where(present, tl.sigmoid(forget) * cell + tl.sigmoid(into) * _tanh(new), cell)
        target = output + (start + row)[:, None] * (2 * hidden) + direction * hidden + unit[None, :]
        tl.store(target, (tl.sigmoid(out) * _tanh(cell)).to(output.dtype.element_ty), mask=present)
        tl.debug_barrier()  # the next step reads what other threads of this program have written
        before, sentences_before = start, sentences
        position += tl.where(direction == 0, 1, -1)


@triton.jit  # type: ignore[untyped-decorator]
def _tanh(values: tl.tensor) -> tl.tensor:
    return 2.0 * tl.sigmoid(2.0 * values) - 1.0
