"""Runs a model with torch: for training, for GPUs, and for models without a graph."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, partial

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from anyner.architectures.base import Head
from anyner.architectures.decode import HostProposals
from anyner.architectures.draw import Draw
from anyner.architectures.settings import Decoding
from anyner.encoding.batch import batch_of
from anyner.encoding.pieces import PieceVocabulary
from anyner.inference.config import ModelConfig, Precision
from anyner.inference.recognizer import Recognizer
from anyner.model import NerModel
from anyner.text.windows import Window

_BATCH_TOKENS, _OTHER_BATCH_TOKENS = {"cpu": 1024, "cuda": 65_536}, 16_384
"""Pieces per batch. On a GPU, large batches cost less than more kernel launches; a CPU is fastest while a batch fits in cache."""
_KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""Without cuDNN, which takes a second to plan for every new shape; nearly every batch of text has a new shape."""


class TorchRuntime:
    padded = True

    def __init__(self, model: NerModel, vocabulary: PieceVocabulary, seed: int, precision: Precision) -> None:
        self.model = model
        self.vocabulary = vocabulary
        self.draw = Draw(seed)
        self.precision = precision
        _limit_forks()

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def head(self) -> Head:
        return self.model.head

    @property
    def most_pieces(self) -> int | None:
        return self.model.encoder.most_pieces

    @property
    def batch_tokens(self) -> int:
        return _BATCH_TOKENS.get(self.device.type, _OTHER_BATCH_TOKENS)

    def propose(self, windows: Sequence[Window], decoding: Decoding) -> HostProposals:
        """A model in training stays in it."""
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


def torch_recognizer(
    model: NerModel, vocabulary: PieceVocabulary, config: ModelConfig, precision: Precision = "auto"
) -> Recognizer:
    """A recognizer that runs the model itself."""
    return Recognizer(TorchRuntime(model, vocabulary, config.seed, precision), vocabulary, config)


@cache
def _limit_forks() -> None:
    """Lets forked processes use one thread: they would wait forever for the others, which a fork does not have."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))


@contextmanager
def arithmetic(device: torch.device, precision: Precision = "auto") -> Iterator[None]:
    """Sets the precision of matrix products, and attention kernels that need no set-up for a new shape."""
    autocast = torch.autocast(device.type, dtype=torch.bfloat16) if in_bfloat16(device, precision) else nullcontext()
    with sdpa_kernel(_KERNELS), autocast:
        yield


def in_bfloat16(device: torch.device, precision: Precision) -> bool:
    fast = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return precision == "bfloat16" or (precision == "auto" and fast)
