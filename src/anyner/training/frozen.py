"""A frozen stage encodes every window once and trains from what it kept: ten frozen epochs cost about one."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from anyner.encoding.batch import Example, batch_of
from anyner.encoding.pieces import Frame
from anyner.inference.batching import batches
from anyner.inference.config import Precision
from anyner.inference.proposing import autocast
from anyner.model import NerModel


class FrozenPieces:
    """The pretrained encoder's output for every training example, kept on the host, in bfloat16 where a GPU made it."""

    @torch.no_grad()
    def __init__(
        self, model: NerModel, examples: Sequence[Example], frame: Frame, batch_tokens: int, precision: Precision
    ) -> None:
        device = next(model.parameters()).device
        kept: list[Tensor | None] = [None] * len(examples)
        sizes = [len(example.rows.piece_ids) for example in examples]
        training = model.training
        model.eval()
        for places in batches(sizes, sorted(range(len(sizes)), key=sizes.__getitem__), batch_tokens):
            batch = batch_of([examples[place].rows for place in places], frame)
            with autocast(device, precision):
                pieces = model.encoder.encode(batch.to(device))
            if device.type == "cuda":
                pieces = pieces.bfloat16()
            host = pieces.cpu()
            for place, row, length in zip(places, host, batch.piece_lengths, strict=True):
                kept[place] = row[:length].clone()
        model.train(training)
        self._kept = [pieces for pieces in kept if pieces is not None]
        self._device = device

    def batch(self, places: Sequence[int]) -> Tensor:
        """(B, S, d) for these examples, padded with zeros."""
        padded = pad_sequence([self._kept[place] for place in places], batch_first=True)
        return padded.to(self._device, non_blocking=True).float()
