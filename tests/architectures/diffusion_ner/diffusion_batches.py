"""Small heads for the tests of diffusion_ner."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import torch
from head_batches import LABELS, WIDTH
from torch import Tensor

from anyner.architectures.diffusion_ner.config import Config, DiffusionOptions
from anyner.architectures.diffusion_ner.head import Head
from anyner.architectures.diffusion_ner.network import Predictions
from anyner.architectures.settings import Decoding
from anyner.encoding.encoder import Encoder, States


def head_of(seed: int = 0, **settings: object) -> Head:
    torch.manual_seed(seed)
    config = Config.of({"width": 8, "spans": 7, "dropout": 0.0, **settings}, "head")
    return Head(config, LABELS, cast(Encoder, SimpleNamespace(width=WIDTH))).eval()


def predicted(head: Head, states: States, first: Tensor, last: Tensor, step: Tensor) -> Predictions:
    """Predictions for spans `first..last` (B, K) at steps (B,), without the span classifier."""
    sentence = head.denoiser.read(states)
    return head.denoiser.typed(sentence, head.denoiser.pointed(sentence, first, last, head.denoiser.time(step)))


def decoding(head: Head, score: float = 0.2, **options: Any) -> Decoding:
    return Decoding(LABELS, {"score": score}, "all", head.settings, DiffusionOptions(**options))
