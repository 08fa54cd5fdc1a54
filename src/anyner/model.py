"""NerModel = encoder + head."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from anyner.architectures.base import Head, Losses, Proposals
from anyner.architectures.decode import HostProposals, decode_spans
from anyner.architectures.draw import Draw
from anyner.architectures.settings import Decoding
from anyner.architectures.spans import propose_spans
from anyner.encoding.batch import Batch
from anyner.encoding.encoder import Encoder
from anyner.text.align import WordEntity


class NerModel(nn.Module):
    """Gives losses in training and proposals in prediction; batching, scoring and saving are done elsewhere."""

    def __init__(self, encoder: Encoder, head: Head) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    @property
    def labels(self) -> Sequence[str]:
        return self.head.labels

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

    def decode(self, proposals: HostProposals, sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
        """The entities of each sentence of a batch, from its proposals on the host."""
        decode = decode_spans if decoding.span_classifier_alone else self.head.decode
        return decode(proposals, sentences, decoding)
