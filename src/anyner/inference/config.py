"""`config.json` of a model folder: everything about a model but its weights and its vocabulary."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from anyner.encoding.config import EncoderConfig
from anyner.overlap import Policy
from anyner.settings import Settings
from anyner.text.config import TextConfig

FORMAT = 3
"""Versions before: 1 had no separators between lines, 2 had other names of settings and weights."""
WeightFormat = Literal["float32", "bfloat16", "int8"]
Precision = Literal["auto", "float32", "bfloat16"]
"""Precision of matrix products; auto: bfloat16 on GPUs that have it, float32 elsewhere."""


class ModelConfig(Settings):
    format: int = FORMAT
    """Version of this file; a newer one than this library knows is refused."""
    anyner_version: str
    architecture: str
    head: dict[str, Any]
    """Settings of the architecture; validated by its own `config.py`."""
    labels: tuple[str, ...] = Field(min_length=1)
    text: TextConfig
    encoder: EncoderConfig
    pretrained: dict[str, Any]
    """The Hugging Face config of the pretrained encoder, whole."""
    thresholds: dict[str, float]
    options: dict[str, Any] = Field(default_factory=dict)
    """Defaults of the options of a call."""
    overlap: Policy
    seed: int = 0
    """Seed of whatever the architecture draws in prediction."""
    weights: WeightFormat = "float32"
    weights_sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    """Checksum of the weights file, compared on loading; None for models saved without one."""
