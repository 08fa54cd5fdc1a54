"""Windows in, proposals out: the device works on one batch while the host handles the one before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch

from anyner.architectures.base import HostProposals, PendingProposals
from anyner.architectures.draw import Draw
from anyner.architectures.settings import Options
from anyner.encoding.batch import batch_of
from anyner.encoding.pieces import PieceVocabulary
from anyner.inference.batching import batches, window_size
from anyner.inference.config import Precision
from anyner.model import NerModel
from anyner.text.windows import Pieces, Window


@dataclass(frozen=True, slots=True)
class Proposed:
    """The proposals of one batch, on the host; `places` says which of the windows that were passed in it holds."""

    places: tuple[int, ...]
    proposals: HostProposals


class Proposer:
    """Runs a model over windows. The result does not depend on how they are batched."""

    def __init__(self, model: NerModel, vocabulary: PieceVocabulary, prompt: Pieces, seed: int, precision: Precision) -> None:
        self.model = model
        self.vocabulary = vocabulary
        self.prompt = prompt
        self.draw = Draw(seed)
        self.precision = precision

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @torch.inference_mode()
    def propose(self, windows: Sequence[Window], options: Options, batch_tokens: int) -> Iterator[Proposed]:
        sizes = [window_size(window) for window in windows]
        order = sorted(range(len(windows)), key=sizes.__getitem__, reverse=True)
        pending: tuple[tuple[int, ...], PendingProposals] | None = None
        was_training = self.model.training
        self.model.eval()
        try:
            for places in batches(sizes, order, batch_tokens):
                started = self._start([windows[place] for place in places], options)
                if pending is not None:
                    yield Proposed(pending[0], pending[1].wait())
                pending = (tuple(places), started)
            if pending is not None:
                yield Proposed(pending[0], pending[1].wait())
        finally:
            self.model.train(was_training)

    def _start(self, windows: Sequence[Window], options: Options) -> PendingProposals:
        frame, device = self.vocabulary.frame, self.device
        batch = batch_of(windows, frame, self.prompt)
        with autocast(device, self.precision):
            return self.model.propose(batch.to(device), options, self.draw).start_copy()


def autocast(device: torch.device, precision: Precision = "auto") -> AbstractContextManager[object]:
    """Matrix products in the precision asked for."""
    fast = device.type == "cuda" and torch.cuda.is_bf16_supported()
    if precision == "bfloat16" or (precision == "auto" and fast):
        return torch.autocast(device.type, dtype=torch.bfloat16)
    return nullcontext()
