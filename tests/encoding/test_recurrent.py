"""Every way to run the BiLSTM gives what torch's own gives, with the same gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from anyner.encoding.batch import _packing
from anyner.encoding.recurrent import packed, padded, persistent

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
