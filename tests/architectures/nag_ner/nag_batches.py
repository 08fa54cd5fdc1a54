"""Small heads for the tests of nag_ner."""

from __future__ import annotations

from typing import Any, cast

import torch
from head_batches import LABELS
from stand_ins import FakeEncoder

from anyner.architectures.nag_ner.config import Config, NagOptions
from anyner.architectures.nag_ner.head import Head
from anyner.architectures.settings import Decoding
from anyner.encoding.encoder import Encoder

FITTED: dict[str, Any] = {
    "decoder": "new", "space": "pointer", "longest": 4, "tail": True, "farthest": 9, "most_at_one_word": 3, "contiguous": False,
    "most_units": 12, "width": 8, "dropout": 0.0, "span_classifier": {"width": 0},
}  # fmt: skip


def head_of(seed: int = 0, encoder: FakeEncoder | None = None, **settings: object) -> Head:
    config = Config.of({**FITTED, **settings}, "head")
    own = encoder or FakeEncoder()
    torch.manual_seed(seed)
    return Head(config, LABELS, cast(Encoder, own)).eval()


def decoding(head: Head, thresholds: dict[str, float] | None = None, **options: Any) -> Decoding:
    loosest = {threshold.name: threshold.loosest for threshold in head.settings.thresholds()}
    return Decoding(LABELS, thresholds or loosest, "all", head.settings, NagOptions(**options))
