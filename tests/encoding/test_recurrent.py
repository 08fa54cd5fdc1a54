"""Every way to run the BiLSTM gives what torch's own gives, with the same gradients."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from anyner.encoding.batch import _packing
from anyner.encoding.recurrent import _kernel, packed, padded, persistent

Way = Callable[[nn.LSTM, Tensor, Tensor], Tensor]
LENGTHS = np.array([5, 9, 1, 9])


def batch(device: str = "cpu") -> Any:
    mask = np.arange(LENGTHS.max()) < LENGTHS[:, None]
    order, inverse = (torch.from_numpy(one).to(device) for one in _packing(LENGTHS, mask))
    return SimpleNamespace(
        packed=order, unpacked=inverse, lengths=tuple(LENGTHS.tolist()), word_mask=torch.from_numpy(mask).to(device)
    )


def with_gradients(lstm: nn.LSTM, words: Tensor, run: Way, mask: Tensor) -> list[Tensor]:
    """The output, zero behind each sentence, and the gradients of the words and of every weight."""
    lstm.zero_grad()
    words = words.clone().requires_grad_()
    output = run(lstm, words, mask).masked_fill(~mask[..., None], 0.0)
    (output.float() * torch.arange(output.numel(), device=output.device).view_as(output).sin()).sum().backward()
    assert words.grad is not None
    weights = [weight.grad for weight in lstm.parameters() if weight.grad is not None]
    assert len(weights) == len(list(lstm.parameters()))
    return [output.detach(), words.grad, *weights]


def one_by_one(lstm: nn.LSTM, words: Tensor, mask: Tensor) -> Tensor:
    output = words.new_zeros(*mask.shape, 2 * lstm.hidden_size)
    for row, length in enumerate(mask.sum(1).tolist()):
        output[row, :length] = lstm(words[row : row + 1, :length])[0][0]
    return output


@pytest.mark.parametrize(("layers", "width", "hidden"), [(1, 36, 18), (2, 20, 10), (1, 128, 128)])
@pytest.mark.parametrize("way", ["packed", "padded", "persistent"])
def test_all_ways_agree_with_sentences_read_one_by_one(way: str, layers: int, width: int, hidden: int) -> None:
    torch.manual_seed(0)
    lstm = nn.LSTM(width, hidden, layers, batch_first=True, bidirectional=True).double()
    own = batch()
    words = torch.randn(*own.word_mask.shape, width, dtype=torch.double)
    ways: dict[str, Way] = {
        "packed": lambda lstm, words, _: packed(lstm, words, own),
        "padded": padded,
        "persistent": persistent,
    }
    found, expected = (with_gradients(lstm, words, run, own.word_mask) for run in (ways[way], one_by_one))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_dropout_lies_between_layers_in_training_alone() -> None:
    torch.manual_seed(0)
    lstm = nn.LSTM(8, 4, 2, batch_first=True, bidirectional=True, dropout=0.9)
    words, mask = torch.randn(2, 3, 8), torch.ones(2, 3, dtype=torch.bool)
    run = partial(persistent, lstm, words, mask)
    assert not torch.equal(run(), run())
    lstm.eval()
    assert torch.equal(run(), run())


@pytest.mark.gpu
def test_persistent_kernels_of_cudnn_give_the_same() -> None:
    torch.manual_seed(0)
    lstm, own = nn.LSTM(384, 192, batch_first=True, bidirectional=True).cuda(), batch("cuda")
    words = torch.randn(*own.word_mask.shape, 384, device="cuda")
    runs: list[Way] = [lambda lstm, words, _: packed(lstm, words, own), persistent]
    expected, found = (with_gradients(lstm, words, run, own.word_mask) for run in runs)
    for one, other in zip(found, expected, strict=True):  # of half precision
        torch.testing.assert_close(one.float(), other.float(), rtol=5e-3, atol=5e-3 * float(other.abs().max()))


IN_THE_INTERPRETER = """
import torch
from anyner.encoding.lstm_kernel import bilstm
torch.manual_seed(0)
lengths = [int(length) for length in torch.randint(1, 9, (20,))]
rows = [torch.randn(length, 9) for length in lengths]
longest_first = sorted(rows, key=len, reverse=True)
words = torch.cat([row[place : place + 1] for place in range(8) for row in longest_first])  # those of the first position first
with torch.no_grad():
    for hidden, layers in ((16, 1), (40, 2)):
        lstm = torch.nn.LSTM(9, hidden, layers, batch_first=True, bidirectional=True)
        alone = [lstm(row[None])[0][0] for row in longest_first]
        expected = torch.cat([row[place : place + 1] for place in range(8) for row in alone])
        torch.testing.assert_close(bilstm(lstm, words, lengths, torch.float32), expected, rtol=1e-5, atol=1e-6)
"""


def test_the_kernel_agrees_in_the_interpreter_of_triton() -> None:
    pytest.importorskip("triton", reason="Triton is not installed: its kernel is not tested")
    subprocess.run([sys.executable, "-c", IN_THE_INTERPRETER], env={**os.environ, "TRITON_INTERPRET": "1"}, check=True)


def test_there_is_no_kernel_without_a_gpu() -> None:
    assert _kernel(8, torch.device("cpu")) is None


@pytest.mark.gpu
@pytest.mark.parametrize(("layers", "width", "hidden"), [(1, 384, 192), (2, 312, 156), (1, 768, 384)])
def test_the_kernel_gives_the_same_on_a_gpu(layers: int, width: int, hidden: int) -> None:
    pytest.importorskip("triton")
    torch.manual_seed(0)
    lstm, own = nn.LSTM(width, hidden, layers, batch_first=True, bidirectional=True).cuda(), batch("cuda")
    words = torch.randn(*own.word_mask.shape, width, device="cuda")
    assert _kernel(hidden, words.device) is not None
    with torch.no_grad():
        expected = packed(lstm, words, own)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            found = packed(lstm, words, own)
    mask = own.word_mask
    torch.testing.assert_close(found[mask].float(), expected[mask], rtol=2e-2, atol=1e-2)
