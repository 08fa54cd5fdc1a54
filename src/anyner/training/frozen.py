"""A frozen stage encodes every window once and trains from what it kept: ten frozen epochs cost about one."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from anyner.encoding.batch import batch_of
from anyner.inference.batching import batches, window_size
from anyner.inference.proposing import Proposer, arithmetic
from anyner.text.windows import Window


class FrozenPieces:
    """The pretrained encoder's output for every training window, kept on its device in the precision it has there."""

    @torch.no_grad()
    def __init__(self, proposer: Proposer, windows: Sequence[Window], batch_tokens: int) -> None:
        model, device = proposer.model, proposer.device
        kept: list[Tensor | None] = [None] * len(windows)
        sizes = [window_size(window) + proposer.extra for window in windows]
        training = model.training
        model.eval()
        for places in batches(sizes, sorted(range(len(sizes)), key=sizes.__getitem__), batch_tokens):
            batch = batch_of([windows[place] for place in places], proposer.vocabulary.frame, proposer.prompt)
            with arithmetic(device, proposer.precision):
                pieces = model.encoder.encode(batch.to(device))
            for place, row, length in zip(places, pieces, batch.piece_lengths, strict=True):
                kept[place] = row[:length].clone()
        model.train(training)
        self._kept = [pieces for pieces in kept if pieces is not None]

    def batch(self, places: Sequence[int]) -> Tensor:
        """(B, S, d) for these windows, padded with zeros."""
        return pad_sequence([self._kept[place] for place in places], batch_first=True)
