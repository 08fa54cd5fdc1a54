"""NerModel = encoder + head."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from anyner.architectures.base import Head, Losses, Proposals
from anyner.architectures.draw import Draw
from anyner.architectures.settings import Decoding
from anyner.encoding.batch import Batch
from anyner.encoding.encoder import Encoder


class NerModel(nn.Module):
    """Losses in training, proposals in prediction; batching, decoding, scoring and saving are done around it."""

    def __init__(self, encoder: Encoder, head: Head) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    @property
    def labels(self) -> Sequence[str]:
        return self.head.labels

    def forward(self, batch: Batch, draw: Draw, pieces: Tensor | None = None) -> Losses:
        """The losses of a batch; `pieces` (B, S, d) from a frozen stage's cache spare the pretrained encoder."""
        assert batch.gold is not None
        states = self.encoder.states(self.encoder.encode(batch) if pieces is None else pieces, batch)
        return self.head.loss(states, batch.gold, draw)

    def propose(self, batch: Batch, decoding: Decoding, draw: Draw) -> Proposals:
        return self.head.propose(self.encoder(batch), decoding, draw)
