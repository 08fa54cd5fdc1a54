"""The contract of a head: it takes the encoder's states and returns losses or proposals, and does nothing else.

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
    """One loss term as a sum and its divisor, so that any split over processes gives the same mean."""

    numerator: Tensor  # ()
    denominator: Tensor  # ()
    weight: float = 1.0

    @classmethod
    def mean(cls, loss: Tensor, counted: Tensor, weight: float = 1.0) -> LossPart:
        """The mean of the counted losses; the others must be finite, too."""
        return cls((loss * counted).sum(), counted.sum(), weight)


Losses = Mapping[str, LossPart]


@dataclass(frozen=True, slots=True)
class Proposals:
    """Candidate entities with their scores, still in tensors. A subclass adds fields; each must be a tensor."""

    def on_host(self) -> HostProposals:
        """The fields as numpy arrays. All copies start before the first is awaited."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        host = {name: tensor.to("cpu", non_blocking=True) for name, tensor in fields.items()}
        for device in {tensor.device for tensor in fields.values() if tensor.is_cuda}:
            torch.cuda.current_stream(device).synchronize()
        return {name: (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy() for name, tensor in host.items()}


@dataclass(frozen=True, slots=True)
class Step:
    """A function of tensors that can be exported; it returns its outputs by name."""

    function: Callable[..., Mapping[str, Tensor]]
    examples: Mapping[str, Tensor]
    """Example inputs by name; every dynamic dimension has at least size 2."""
    varying: Mapping[str, tuple[int, ...]]
    """The dynamic dimensions of each input."""


class Head(nn.Module):
    """The part of a model that is the architecture.

    Under autocast the states may be bfloat16: do index, schedule and prefix-sum arithmetic in float32. Anything that `propose`
    caches on the head was computed without gradients and must not be used in training.
    """

    Config: ClassVar[type[HeadConfig]]
    CallOptions: ClassVar[type[Options]] = Options
    training_only: ClassVar[tuple[str, ...]] = ()
    """Prefixes of weights that only training needs. They are not saved; modules created in `start` do not exist after loading."""
    span_classifier: SpanClassifier | None
    """Many architectures have one next to their own method."""
    fragment_pairs: FragmentPairs | None
    """Joins fragments where an architecture predicts spans and the corpus has discontinuous entities."""

    def __init__(self, config: HeadConfig, labels: Sequence[str], encoder: Encoder) -> None:
        """`encoder` provides widths and, through `tables`, embeddings to share; the head does not register it as a submodule."""
        super().__init__()
        self.config = config
        self.labels = tuple(labels)
        self.span_classifier = None
        self.fragment_pairs = None

    def start(self, encoder: Encoder, cut: PieceCutter) -> None:
        """Called when training starts or resumes, never on loading: copy pretrained weights here.

        `cut` splits words into pieces, for example the words of label names.
        """

    def rate_share(self, name: str) -> float:
        """Learning rate of the parameter with this name, as a share of `training.head_lr`: small for pretrained weights."""
        return 1.0

    @abstractmethod
    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        """The terms of the training loss; finite for every batch, with or without entities.

        The set of terms may depend only on `draw.epoch` and `draw.step`, so that it is the same in all processes.
        """

    @abstractmethod
    def propose(self, states: States, decoding: Decoding, draw: Draw) -> Proposals:
        """Candidates, on the device; no Python loop over sentences, words or spans.

        Candidates that `decoding.thresholds` would drop can be left out to save work.
        """

    def read(self, states: States) -> Mapping[str, Tensor] | None:
        """The first step of an exported model: what `numpy_head.py` needs computed once per batch, by name.

        None: the model cannot be exported and runs in torch only.
        """
        return None

    def steps(self) -> Mapping[str, Step]:
        """The further steps of an exported model, by name."""
        return {}

    @staticmethod
    @abstractmethod
    def decode(proposals: HostProposals, sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
        """Entities of each sentence of the batch, from `decode.py`: numpy only. Applies the thresholds again."""
