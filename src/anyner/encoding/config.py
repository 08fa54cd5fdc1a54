"""What can be set about the encoder: where it comes from and how pieces become words."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from anyner.settings import Settings

Pooling = Literal["first", "max", "mean", "first_last_max", "first_last_mean"]


class FeatureConfig(Settings):
    """Word features beside the encoder's states; all off by default."""

    shapes: int = Field(default=0, ge=0)
    """Width of the embedding of word shapes (capitals, digits, signs), which uncased encoders do not see; 0: none."""
    pos: int = Field(default=0, ge=0)
    """Width of the embedding of part-of-speech tags, which come with the documents; 0: none."""
    pos_least_count: int = Field(default=16, ge=1)
    """Tags seen fewer times than this in training count as unknown."""
    vectors: str | None = Field(default=None, min_length=1)
    """A file of word vectors in the text form of GloVe or word2vec, or `.npy` with the words beside it in `.txt`."""
    dropout: float = Field(default=0.5, ge=0.0, lt=1.0)
    """Dropout on each of these features."""

    @property
    def used(self) -> bool:
        return bool(self.shapes or self.pos or self.vectors)


class ScratchConfig(Settings):
    """Size of an encoder that is trained from scratch."""

    layers: int = Field(default=2, ge=1)
    width: int = Field(default=128, ge=16, multiple_of=8)
    vocabulary: int = Field(default=4000, ge=100)
    """Most pieces in the vocabulary, which is learned from the training texts."""


class EncoderConfig(Settings):
    source: str = "from_scratch"
    """A folder or hub id of a Hugging Face encoder; a folder of a trained model, or `bundled:NAME`, for the encoder inside it;
    `from_scratch`: a small new BERT with a vocabulary learned from the corpus."""
    pooling: Pooling = "first"
    """How the pieces of a word become one vector."""
    layers: int = Field(default=1, ge=1)
    """Number of last layers whose mean the states are."""
    dropout: float = Field(default=0.1, ge=0.0, lt=1.0)
    """Dropout on the word vectors."""
    lstm_layers: int = Field(default=0, ge=0)
    """Layers of a BiLSTM over the words; 0: none."""
    lstm_width: int | None = Field(default=None, ge=2)
    """Width of the BiLSTM's output; default: the encoder's."""
    features: FeatureConfig = FeatureConfig()
    """What the word layer adds to the encoder's vector of a word."""
    scratch: ScratchConfig = ScratchConfig()
