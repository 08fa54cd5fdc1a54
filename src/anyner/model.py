"""NerModel = encoder + head."""

from __future__ import annotations

from torch import nn

from anyner.architectures.base import Head, Losses, Proposals
from anyner.architectures.draw import Draw
from anyner.architectures.settings import Decoding
from anyner.architectures.spans import propose_spans
from anyner.encoding.batch import Batch
from anyner.encoding.encoder import Encoder


class NerModel(nn.Module):
    """Gives losses in training and proposals in prediction; batching, scoring and saving are done elsewhere."""

    def __init__(self, encoder: Encoder, head: Head) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    @property
    def embedding(self) -> str | None:
        """The name of the token embedding's weight, if it is a parameter."""
        table = self.encoder.tables.tokens.weight
        return next((name for name, weight in self.named_parameters() if weight is table), None)

    def forward(self, batch: Batch, draw: Draw) -> Losses:
        """The losses of a batch."""
        assert batch.gold is not None
        return self.head.loss(self.encoder(batch), batch.gold, draw)

    def propose(self, batch: Batch, decoding: Decoding, draw: Draw) -> Proposals:
        states = self.encoder(batch)
        if decoding.span_classifier_alone:
            return propose_spans(self.head, states, decoding)
        return self.head.propose(states, decoding, draw)
