"""The protocol of a runtime, which runs a model's network: windows in, proposals on the host out; and their decoding.

`torch_runtime.py` runs the model itself, on any device. `onnx_runtime.py` runs its graph on a CPU, with no torch in the process.
This file imports no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from anyner.architectures.decode import HostProposals, decode_spans
from anyner.architectures.settings import Decoding
from anyner.overlap import resolve
from anyner.text.align import WordEntity
from anyner.text.windows import Window

if TYPE_CHECKING:
    from anyner.architectures.base import Head
    from anyner.architectures.numpy_head import NumpyHead


class Runtime(Protocol):
    """One model, ready to run. The result does not depend on how windows are batched."""

    @property
    def head(self) -> Head | NumpyHead: ...

    @property
    def most_pieces(self) -> int | None:
        """Maximum number of pieces the encoder can read; None: no limit."""

    @property
    def batch_tokens(self) -> int:
        """Pieces per batch that run fastest here."""

    @property
    def padded(self) -> bool:
        """Whether windows of different sizes may share a batch. False where padding would change the results."""

    def propose(self, windows: Sequence[Window], decoding: Decoding) -> HostProposals:
        """Proposals of the windows of one batch."""


def decoded(runtime: Runtime, proposals: HostProposals, sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence of a batch. Entities below the threshold of their label displace no others."""
    decode = decode_spans if decoding.span_classifier_alone else runtime.head.decode
    least = decoding.label_thresholds
    if not least:
        return decode(proposals, sentences, decoding)
    found = decode(proposals, sentences, replace(decoding, policy="all"))
    kept = ([entity for entity in own if (entity.score or 0.0) >= least.get(entity.label, 0.0)] for own in found)
    return [resolve(own, decoding.policy) for own in kept]
