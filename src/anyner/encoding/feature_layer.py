"""The optional word features as vectors: tags, shapes, static word vectors, and what a BiLSTM says about the characters."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from anyner.document import Document
from anyner.encoding.batch import FeatureIds
from anyner.encoding.config import FeatureConfig
from anyner.encoding.features import END, PADDING, FeatureVocabulary, learned_characters, learned_shapes, learned_tags
from anyner.encoding.vectors import Floats, read_vectors
from anyner.text.config import TextConfig

_SPREAD = 0.02


class FeatureLayer(nn.Module):
    """(B, M, width): tag and shape embedding, static vector and character state of every word, those of them that are in use."""

    vectors: Tensor | None
    """(V + 1, width of the vectors) never trained; row 0 is for unknown words."""

    def __init__(self, config: FeatureConfig, vocabulary: FeatureVocabulary) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.width = config.pos + config.shapes + vocabulary.vector_width + config.characters
        self.pos = _embedding(len(vocabulary.tags) + 1, config.pos) if config.pos else None
        self.shapes = _embedding(len(vocabulary.shapes) + 1, config.shapes) if config.shapes else None
        vectors = torch.zeros(len(vocabulary.vector_words) + 1, vocabulary.vector_width) if vocabulary.vector_width else None
        self.register_buffer("vectors", vectors)
        self.characters: nn.Embedding | None = None
        if config.characters:
            one_way = config.characters // 2
            self.characters = _embedding(len(vocabulary.characters) + END + 1, one_way)
            self.character_lstm = nn.LSTM(one_way, one_way, batch_first=True, bidirectional=True)

    def forward(self, ids: FeatureIds) -> Tensor:
        parts: list[Tensor] = []
        if self.pos is not None and ids.pos is not None:
            parts.append(self.dropout(self.pos(ids.pos)))
        if self.shapes is not None and ids.shapes is not None:
            parts.append(self.dropout(self.shapes(ids.shapes)))
        if self.vectors is not None and ids.vectors is not None:
            parts.append(self.dropout(functional.embedding(ids.vectors, self.vectors)))
        if self.characters is not None and ids.characters is not None and ids.word_of is not None:
            parts.append(functional.embedding(ids.word_of, self._spelling_states(ids.characters, ids.character_lengths)))
        return torch.cat([part.float() for part in parts], dim=-1)

    def _spelling_states(self, characters: Tensor, lengths: Sequence[int]) -> Tensor:
        """(U, width of characters): the mean over a word's characters and its end; each distinct word is read once."""
        assert self.characters is not None
        embedded = self.dropout(self.characters(characters))  # (U, L, d)
        packed = pack_padded_sequence(embedded, torch.tensor(lengths), batch_first=True)
        output, _ = self.character_lstm(packed)
        states, _ = pad_packed_sequence(output, batch_first=True)  # (U, L, 2 d), zero behind a word's end
        return states.float().sum(1) / (characters != PADDING).sum(1, keepdim=True)

    @torch.no_grad()
    def start_vectors(self, matrix: Floats) -> None:
        assert self.vectors is not None
        self.vectors.copy_(torch.from_numpy(matrix))


def _embedding(rows: int, width: int) -> nn.Embedding:
    table = nn.Embedding(rows, width)
    nn.init.normal_(table.weight, std=_SPREAD)
    return table


def learned_features(
    config: FeatureConfig, documents: Sequence[Document], text: TextConfig
) -> tuple[FeatureVocabulary | None, Floats | None]:
    """The vocabularies that a training starts with, and the static vectors; None where no feature is in use."""
    if not config.used:
        return None, None
    vectors = read_vectors(config.vectors) if config.vectors is not None else None
    vocabulary = FeatureVocabulary(
        characters=learned_characters(documents, text) if config.characters else (),
        shapes=learned_shapes(documents, text) if config.shapes else (),
        tags=learned_tags(documents, text, config.pos_least_count) if config.pos else (),
        vector_words=vectors.words if vectors else (),
        vector_width=vectors.width if vectors else 0,
    )
    return vocabulary, vectors.matrix if vectors else None
