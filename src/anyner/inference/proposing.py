"""Windows in, proposals out, in batches of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
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
from anyner.text.windows import Pieces, Window

_KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""Not cuDNN's, which builds a plan for every new shape, a second each; nearly every batch of text has a new shape."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """The proposals of one batch, on the host; `places` are the indices of its windows."""

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
        self.extra = len(vocabulary.frame.prefix) + len(vocabulary.frame.suffix) + len(prompt)
        """Pieces that every window has besides its own."""

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def propose(self, windows: Sequence[Window], decoding: Decoding, batch_tokens: int) -> Iterator[Proposed]:
        """Proposals of the windows, in batches of similar length, longest first."""
        sizes = [window_size(window) + self.extra for window in windows]
        order = longest_first(windows)
        plan = list(batches(sizes, order, batch_tokens))
        with self._evaluating() as was_training:
            # No second thread: both would run Python, and passing the GIL costs more than the wait it hides.
            for places in plan:
                proposals = self._run([windows[place] for place in places], decoding, was_training)
                yield Proposed(tuple(places), proposals)

    def propose_batch(self, windows: Sequence[Window], decoding: Decoding) -> HostProposals:
        """Proposals of windows that are one batch already."""
        with self._evaluating() as was_training:
            return self._run(windows, decoding, was_training)

    @contextmanager
    def _evaluating(self) -> Iterator[bool]:
        """Puts the model in evaluation mode, and back afterwards; yields whether it was in training mode."""
        was_training = self.model.training
        if was_training:  # walking all modules takes a tenth of the time of a short sentence
            self.model.eval()
        try:
            yield was_training
        finally:
            if was_training:
                self.model.train()

    def _without_gradients(self, training_goes_on: bool) -> AbstractContextManager[None]:
        """Inference mode is a tenth faster for one sentence on a CPU. But under autocast it converts every weight at each use,
        and tensors that a module caches in it cannot be used in training.
        """
        if training_goes_on or in_bfloat16(self.device, self.precision):
            return torch.no_grad()
        return torch.inference_mode()

    def _run(self, windows: Sequence[Window], decoding: Decoding, training_goes_on: bool) -> HostProposals:
        """One batch, from windows to arrays on the host."""
        with self._without_gradients(training_goes_on):
            batch = batch_of(windows, self.vocabulary.frame, self.prompt, self.model.encoder.features).to(self.device)
            with arithmetic(self.device, self.precision):
                return self.model.propose(batch, decoding, self.draw).on_host()


@contextmanager
def arithmetic(device: torch.device, precision: Precision = "auto") -> Iterator[None]:
    """Sets the precision of matrix products, and attention kernels that need no set-up for a new shape."""
    autocast = torch.autocast(device.type, dtype=torch.bfloat16) if in_bfloat16(device, precision) else nullcontext()
    with sdpa_kernel(_KERNELS), autocast:
        yield


def in_bfloat16(device: torch.device, precision: Precision) -> bool:
    fast = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return precision == "bfloat16" or (precision == "auto" and fast)
