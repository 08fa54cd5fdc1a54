"""What can be set about the encoder: where it comes from and how pieces become words."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from anyner.settings import Settings

Pooling = Literal["first", "max", "mean", "first_last_max", "first_last_mean"]


class FeatureConfig(Settings):
    """What a word's vector has besides what the encoder says; all of it is off unless asked for."""

    characters: int = Field(default=0, ge=0, multiple_of=2)
    """Width of what a BiLSTM says about the word's characters, both directions together; 0: none."""
    shapes: int = Field(default=0, ge=0)
    """Width of the embedding of the words' shapes, capitals above all, which encoders without case do not see; 0: none."""
    pos: int = Field(default=0, ge=0)
    """Width of the embedding of part-of-speech tags, which the documents must have; 0: none."""
    pos_least_count: int = Field(default=16, ge=1)
    """Tags seen fewer times than this in training share the row of those never seen."""
    vectors: str | None = Field(default=None, min_length=1)
    """A file of word vectors in the text form of GloVe or word2vec, or `.npy` with the words beside it in `.txt`."""
    dropout: float = Field(default=0.5, ge=0.0, lt=1.0)
    """Dropout on tags, shapes, vectors and characters; on characters before their BiLSTM."""

    @property
    def used(self) -> bool:
        return bool(self.characters or self.shapes or self.pos or self.vectors)


class EncoderConfig(Settings):
    source: str = "fresh"
    """A folder or hub id of a Hugging Face encoder; `fresh`: a small new BERT with a vocabulary made from the corpus; a folder of
    a trained model, or `bundled:NAME`: the encoder inside it."""
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
    features: FeatureConfig = FeatureConfig()
    """What the word layer adds to the encoder's vector of a word."""
    fresh_layers: int = Field(default=2, ge=1)
    fresh_width: int = Field(default=128, ge=16, multiple_of=8)
    fresh_vocabulary: int = Field(default=4000, ge=100)
