"""The biaffine head without torch: selects the spans that are likely enough. numpy only."""

from __future__ import annotations

from anyner.architectures import numpy_head
from anyner.architectures.biaffine.config import Config
from anyner.architectures.decode import HostProposals, decode_spans
from anyner.architectures.draw import Draw
from anyner.architectures.numpy_head import Arrays, real_spans
from anyner.architectures.numpy_spans import likely_spans
from anyner.architectures.settings import Decoding, least_span_score
from anyner.encoding.arrays import BatchArrays


class NumpyHead(numpy_head.NumpyHead):
    decode = staticmethod(decode_spans)

    def propose(self, batch: BatchArrays, read: Arrays, decoding: Decoding, draw: Draw) -> HostProposals:
        assert isinstance(self.config, Config)
        spans = real_spans(batch, self.config.longest)
        found = likely_spans(read["probability"], spans, least_span_score(decoding.thresholds))
        return self.span_proposals(read, *found)
