"""Settings of the encoder: its source, and how pieces become words."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from anyner.settings import Settings, by_rule

Pooling = Literal["first", "max", "mean", "first_last_max", "first_last_mean"]


SCRATCH = "from_scratch"
"""The source of an encoder that is trained from scratch."""


class EncoderConfig(Settings):
    source: str = SCRATCH
    """A folder or hub id of a Hugging Face encoder; a folder of a trained model, or `bundled:NAME`, for the encoder inside it;
    `from_scratch`: a small new BERT with a vocabulary learned from the corpus."""
    pooling: Pooling = "max"
    """How the pieces of a word become one vector."""
    lstm_layers: int = Field(default=1, ge=0, le=8)
    """Layers of a BiLSTM over the words; 0: none."""
    word_shapes: int = by_rule(0, ge=0)
    """Width of the embedding of word shapes (capitals, digits, signs), which uncased encoders do not see; 0: none."""
    scratch_width: int = Field(default=128, ge=16, le=8192, multiple_of=8)
    """Width of an encoder that is trained from scratch; it has two layers."""
