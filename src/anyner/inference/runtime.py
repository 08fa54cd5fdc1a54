"""The protocol of a runtime, which runs a model's network: windows in, proposals on the host out. Does not import torch.

`torch_runtime.py` runs the model itself, on any device. `onnx_runtime.py` runs its graph on a CPU, with no torch in the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from anyner.architectures.decode import HostProposals
from anyner.architectures.settings import Decoding, HeadConfig, Options
from anyner.text.align import WordEntity
from anyner.text.windows import Window


class Runtime(Protocol):
    """One model, ready to run. The result does not depend on how windows are batched."""

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def head_config(self) -> HeadConfig: ...

    @property
    def call_options(self) -> type[Options]:
        """The options that can be set for each call."""

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

    def decode(self, proposals: HostProposals, sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
        """The entities of each sentence of a batch, from its proposals."""
