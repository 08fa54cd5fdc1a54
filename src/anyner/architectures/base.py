"""The contract of a head. It gets the encoder's states and gives back losses or proposals; everything else is not its business.

A new architecture is one folder beside this file with `config.py`, `head.py` and `decode.py`; nothing outside it knows its name.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from anyner.architectures.draw import Draw
from anyner.architectures.settings import Decoding, HeadConfig, Options, Threshold
from anyner.encoding.batch import Gold
from anyner.encoding.encoder import Encoder, States
from anyner.text.align import WordEntity

HostProposals = Mapping[str, NDArray[Any]]
"""Proposals after their one copy to the host: arrays by field name."""


@dataclass(frozen=True, slots=True)
class LossPart:
    """One term of the loss as a sum and what it is to be divided by, so that any split over processes gives the same mean."""

    numerator: Tensor  # ()
    denominator: Tensor  # ()
    weight: float = 1.0


Losses = Mapping[str, LossPart]


@dataclass(frozen=True, slots=True)
class Proposals:
    """Candidate entities with their scores, still in tensors. A subclass adds its own; each must be a tensor."""

    def start_copy(self) -> PendingProposals:
        """Starts the copy to the host without waiting for it."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        host = {name: tensor.to("cpu", non_blocking=True) for name, tensor in fields.items()}
        done = None
        if any(tensor.is_cuda for tensor in fields.values()):
            done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record()
        return PendingProposals(host, done)


@dataclass(frozen=True, slots=True)
class PendingProposals:
    """Proposals on their way to the host."""

    fields: Mapping[str, Tensor]
    done: torch.cuda.Event | None

    def wait(self) -> HostProposals:
        if self.done is not None:
            self.done.synchronize()
        return {name: _as_array(tensor) for name, tensor in self.fields.items()}


def _as_array(tensor: Tensor) -> NDArray[Any]:
    return np.asarray((tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy())


class Head(nn.Module):
    """The part of a model that is the architecture."""

    Config: ClassVar[type[HeadConfig]]
    CallOptions: ClassVar[type[Options]] = Options
    thresholds: ClassVar[tuple[Threshold, ...]] = ()
    training_only: ClassVar[tuple[str, ...]] = ()
    """Prefixes of weights that only training needs: they are neither saved with the model nor expected on loading."""

    def __init__(self, config: HeadConfig, labels: Sequence[str], encoder: Encoder) -> None:
        """`encoder` gives widths and, through `tables`, embeddings to share; the head keeps no reference to it as a module."""
        super().__init__()
        self.config = config
        self.labels = tuple(labels)

    @abstractmethod
    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        """The terms of the training loss; finite for every batch, with or without entities."""

    @abstractmethod
    def propose(self, states: States, options: Options, draw: Draw) -> Proposals:
        """Candidates at the loosest thresholds, on the device; no Python loop over sentences, words or spans."""

    @staticmethod
    @abstractmethod
    def decode(proposals: HostProposals, sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
        """Entities of each of the batch's sentences, from `decode.py`: numpy only."""

    def start(self, encoder: Encoder) -> None:
        """Called once when a new training starts, never on loading: the place to take over pretrained weights."""

    @classmethod
    def default_thresholds(cls) -> dict[str, float]:
        return {threshold.name: threshold.default for threshold in cls.thresholds}
