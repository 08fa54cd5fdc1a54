"""The optional word features as vectors: tags, shapes and static word vectors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.document import Document
from anyner.encoding.batch import FeatureIds
from anyner.encoding.config import FeatureConfig
from anyner.encoding.features import FeatureVocabulary, learned_shapes, learned_tags
from anyner.encoding.vectors import Floats, read_vectors
from anyner.text.config import TextConfig

_SPREAD = 0.02


class FeatureLayer(nn.Module):
    """Tag embedding, shape embedding and static vector of every word, those that are on: (B, M, width)."""

    vectors: Tensor | None
    """(V + 1, width of the vectors), never trained; row 0 is for unknown words."""

    def __init__(self, config: FeatureConfig, vocabulary: FeatureVocabulary) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.width = config.pos + config.shapes + vocabulary.vector_width
        self.pos = _embedding(len(vocabulary.tags) + 1, config.pos) if config.pos else None
        self.shapes = _embedding(len(vocabulary.shapes) + 1, config.shapes) if config.shapes else None
        vectors = torch.zeros(len(vocabulary.vector_words) + 1, vocabulary.vector_width) if vocabulary.vector_width else None
        self.register_buffer("vectors", vectors)

    def forward(self, ids: FeatureIds) -> Tensor:
        parts: list[Tensor] = []
        if self.pos is not None and ids.pos is not None:
            parts.append(self.dropout(self.pos(ids.pos)))
        if self.shapes is not None and ids.shapes is not None:
            parts.append(self.dropout(self.shapes(ids.shapes)))
        if self.vectors is not None and ids.vectors is not None:
            parts.append(self.dropout(functional.embedding(ids.vectors, self.vectors)))
        return torch.cat([part.float() for part in parts], dim=-1)

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
    """The vocabularies of a new model, and its static vectors; None if no feature is on."""
    if not config.used:
        return None, None
    vectors = read_vectors(config.vectors) if config.vectors is not None else None
    vocabulary = FeatureVocabulary(
        shapes=learned_shapes(documents, text) if config.shapes else (),
        tags=learned_tags(documents, text, config.pos_least_count) if config.pos else (),
        vector_words=vectors.words if vectors else (),
        vector_width=vectors.width if vectors else 0,
    )
    return vocabulary, vectors.matrix if vectors else None
