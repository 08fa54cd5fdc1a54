"""What can be set about the encoder: where it comes from and how pieces become words."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from anyner.settings import Settings

Pooling = Literal["first", "max", "mean", "first_last_max", "first_last_mean"]


class EncoderConfig(Settings):
    source: str = "fresh"
    """A folder or hub id of a Hugging Face encoder, or `fresh`: a small new BERT with a vocabulary made from the corpus."""
    pooling: Pooling = "first"
    """How the pieces of a word become one vector."""
    layers: int = Field(default=1, ge=1)
    """The states are the mean of the last so many layers."""
    dropout: float = Field(default=0.1, ge=0.0, lt=1.0)
    """Dropout on the word vectors."""
    lstm_layers: int = Field(default=0, ge=0)
    """Layers of a BiLSTM over the words; 0: none."""
    lstm_width: int | None = Field(default=None, ge=2)
    """Width of the BiLSTM's output; default: the encoder's."""
    fresh_layers: int = Field(default=2, ge=1)
    fresh_width: int = Field(default=128, ge=16, multiple_of=8)
    fresh_vocabulary: int = Field(default=4000, ge=100)
