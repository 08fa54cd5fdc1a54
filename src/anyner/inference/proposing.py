"""Windows in, proposals out, in batches of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from anyner.architectures.base import HostProposals
from anyner.architectures.draw import Draw
from anyner.architectures.settings import Decoding
from anyner.encoding.batch import batch_of
from anyner.encoding.pieces import PieceVocabulary
from anyner.inference.batching import batches, longest_first, window_size
from anyner.inference.config import Precision
from anyner.model import NerModel
from anyner.text.windows import Window

_KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""Not cuDNN's, which builds a plan for every new shape, a second each; nearly every batch of text has a new shape."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """The proposals of one batch, on the host; `places` are the indices of its windows."""

    places: tuple[int, ...]
    proposals: HostProposals


class Proposer:
    """Runs a model over windows. The result does not depend on how they are batched."""

    def __init__(self, model: NerModel, vocabulary: PieceVocabulary, seed: int, precision: Precision) -> None:
        self.model = model
        self.vocabulary = vocabulary
        self.draw = Draw(seed)
        self.precision = precision
        self.extra = len(vocabulary.frame.prefix) + len(vocabulary.frame.suffix)
        """Pieces that every window has besides its own."""

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def propose(self, windows: Sequence[Window], decoding: Decoding, batch_tokens: int) -> Iterator[Proposed]:
        """Proposals of the windows, in batches of similar length, longest first."""
        sizes = [window_size(window) + self.extra for window in windows]
        plan = list(batches(sizes, longest_first(windows), batch_tokens))
        # No second thread: both would run Python, and passing the GIL costs more than the wait it hides.
        for places in plan:
            yield Proposed(tuple(places), self.propose_batch([windows[place] for place in places], decoding))

    def propose_batch(self, windows: Sequence[Window], decoding: Decoding) -> HostProposals:
        """Proposals of windows that are one batch already, as arrays on the host. A model in training stays in it."""
        training = self.model.training
        if training:  # walking all modules takes a tenth of the time of a short sentence
            self.model.eval()
        # Inference mode is a tenth faster for one sentence on a CPU. But under autocast it converts every weight at each use,
        # and tensors that a module caches in it cannot be used in training.
        slower = training or in_bfloat16(self.device, self.precision)
        try:
            with torch.no_grad() if slower else torch.inference_mode(), arithmetic(self.device, self.precision):
                batch = batch_of(windows, self.vocabulary.frame, self.model.encoder.shapes).to(self.device)
                return self.model.propose(batch, decoding, self.draw).on_host()
        finally:
            if training:
                self.model.train()


@contextmanager
def arithmetic(device: torch.device, precision: Precision = "auto") -> Iterator[None]:
    """Sets the precision of matrix products, and attention kernels that need no set-up for a new shape."""
    autocast = torch.autocast(device.type, dtype=torch.bfloat16) if in_bfloat16(device, precision) else nullcontext()
    with sdpa_kernel(_KERNELS), autocast:
        yield


def in_bfloat16(device: torch.device, precision: Precision) -> bool:
    fast = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return precision == "bfloat16" or (precision == "auto" and fast)
