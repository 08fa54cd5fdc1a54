"""The contract of a head. It gets the encoder's states and gives back losses or proposals; everything else is not its business.

A new architecture is one folder beside this file with `config.py`, `head.py` and `decode.py`; nothing outside it knows its name.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from anyner.architectures.decode import HostProposals
from anyner.architectures.draw import Draw
from anyner.architectures.settings import Decoding, HeadConfig, Options
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.gold import Gold
from anyner.layers.fragments import FragmentPairs
from anyner.layers.span_classifier import SpanClassifier
from anyner.text.align import WordEntity
from anyner.text.windows import PieceCutter


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

    def on_host(self) -> HostProposals:
        """The fields as arrays: all copies are started before the first is waited for."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        host = {name: tensor.to("cpu", non_blocking=True) for name, tensor in fields.items()}
        for device in {tensor.device for tensor in fields.values() if tensor.is_cuda}:
            torch.cuda.current_stream(device).synchronize()
        return {name: (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy() for name, tensor in host.items()}


@dataclass(frozen=True, slots=True)
class Step:
    """A function of tensors that can be exported: it gives its outputs by name."""

    function: Callable[..., Mapping[str, Tensor]]
    examples: Mapping[str, Tensor]
    """Of its inputs, by name; every size that varies is at least 2 in them."""
    varying: Mapping[str, tuple[int, ...]]
    """The dimensions of each input whose size may be any."""


class Head(nn.Module):
    """The part of a model that is the architecture.

    Under autocast the states may be bfloat16: do index, schedule and prefix-sum arithmetic in float32. What `propose` keeps on
    itself must not be used in training: it was made without gradients.
    """

    Config: ClassVar[type[HeadConfig]]
    CallOptions: ClassVar[type[Options]] = Options
    training_only: ClassVar[tuple[str, ...]] = ()
    """Prefixes of weights that only training needs: not saved, and not there on loading if `start` makes their modules."""
    span_classifier: SpanClassifier | None
    """The one that many architectures have beside their own method."""
    fragment_pairs: FragmentPairs | None
    """Joins fragments where an architecture predicts spans and the corpus has discontinuous entities."""

    def __init__(self, config: HeadConfig, labels: Sequence[str], encoder: Encoder) -> None:
        """`encoder` gives widths and, through `tables`, embeddings to share; the head keeps no reference to it as a module."""
        super().__init__()
        self.config = config
        self.labels = tuple(labels)
        self.span_classifier = None
        self.fragment_pairs = None

    def start(self, encoder: Encoder, cut: PieceCutter) -> None:
        """Called when a training starts or resumes, never on loading: the place to take over pretrained weights.

        `cut` gives the pieces of words, for example of the labels' names.
        """

    def rate_share(self, name: str) -> float:
        """The share of `training.head_lr` at which the head's parameter of this name learns: small for what was pretrained."""
        return 1.0

    @abstractmethod
    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        """The terms of the training loss; finite for every batch, with or without entities.

        Which terms there are may depend on `draw.epoch` and `draw.step` alone, so that all processes have the same.
        """

    @abstractmethod
    def propose(self, states: States, decoding: Decoding, draw: Draw) -> Proposals:
        """Candidates, on the device; no Python loop over sentences, words or spans.

        What `decoding.thresholds` would hide need not be proposed: they decide how much work is done.
        """

    def read(self, states: States) -> Mapping[str, Tensor] | None:
        """The first step of an exported model: what `numpy_head.py` needs to have computed once a batch, by name.

        None: the model cannot be exported, and runs in torch only.
        """
        return None

    def steps(self) -> Mapping[str, Step]:
        """The steps that an exported model has besides, by name."""
        return {}

    @staticmethod
    @abstractmethod
    def decode(proposals: HostProposals, sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
        """Entities of each of the batch's sentences, from `decode.py`: numpy only. Applies the thresholds again."""
