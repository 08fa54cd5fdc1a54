"""Small heads for the tests of diffusion_ner."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import torch
from head_batches import LABELS, WIDTH

from anyner.architectures.diffusion_ner.config import Config, DiffusionOptions
from anyner.architectures.diffusion_ner.head import Head
from anyner.architectures.settings import Decoding
from anyner.encoding.encoder import Encoder


def head_of(seed: int = 0, **settings: object) -> Head:
    torch.manual_seed(seed)
    config = Config.of({"width": 8, "heads": 2, "feed_forward": 8, "spans": 7, "dropout": 0.0, **settings}, "head")
    return Head(config, LABELS, cast(Encoder, SimpleNamespace(width=WIDTH))).eval()


def decoding(head: Head, score: float = 0.2, **options: Any) -> Decoding:
    return Decoding(LABELS, {"score": score}, "all", head.settings, DiffusionOptions(**options))
