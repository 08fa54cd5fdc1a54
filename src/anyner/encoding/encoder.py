"""Batch -> States. Two halves: the pretrained encoder, which may be frozen, and the word layer, which always trains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import PreTrainedModel

from anyner.encoding.batch import Batch
from anyner.encoding.config import EncoderConfig
from anyner.encoding.pooling import pool
from anyner.encoding.recurrent import can_persist, packed, padded, persistent
from anyner.encoding.shapes import ShapeVocabulary
from anyner.text.windows import Window

DROPOUT, SHAPE_DROPOUT = 0.1, 0.2
_POSITION_TABLES = ("position_embeddings", "embed_positions")
"""Names of the position tables of all encoders."""


@dataclass(frozen=True, slots=True)
class States:
    """The encoder's output: one vector per word and one per piece, in bfloat16 or float32 depending on autocast."""

    words: Tensor  # (B, M, d)
    word_mask: Tensor  # (B, M) bool
    pieces: Tensor  # (B, S, d of the pretrained encoder)
    piece_mask: Tensor  # (B, S) bool
    first_piece: Tensor  # (B, M)
    last_piece: Tensor  # (B, M)
    piece_ids: Tensor  # (B, S)
    cls: Tensor  # (B, d of the pretrained encoder) the sentence as a whole
    lengths: tuple[int, ...]
    """Words of each sentence, on the host."""
    windows: tuple[Window, ...]

    @property
    def content_keys(self) -> tuple[int, ...]:
        """Keys of all random draws: one number per sentence, from its words."""
        return tuple(window.content_key for window in self.windows)

    def placed(self, array: NDArray[Any]) -> Tensor:
        """Copies an array from the host to the states' device asynchronously."""
        tensor = torch.from_numpy(array)
        if self.words.is_cuda:
            tensor = tensor.pin_memory()
        return tensor.to(self.words.device, non_blocking=True)


@dataclass(frozen=True, slots=True)
class Tables:
    """The pretrained encoder's embedding tables, for heads that share them. A head must not register them as its own."""

    tokens: nn.Embedding
    positions: nn.Embedding | None
    """None for encoders with relative or rotary positions."""
    position_offset: int
    """Row of the position table that belongs to piece 0."""


class Encoder(nn.Module):
    def __init__(self, config: EncoderConfig, pretrained: PreTrainedModel, shapes: ShapeVocabulary | None = None) -> None:
        """`shapes`: its vocabulary of word shapes, if it uses any."""
        super().__init__()
        self.config = config
        self.shapes = shapes
        self.pretrained: PreTrainedModel = pretrained
        self.piece_width = int(pretrained.config.hidden_size)
        self.word_layer = WordLayer(config, self.piece_width, shapes)
        self.width = self.word_layer.width

    def encode(self, batch: Batch) -> Tensor:
        """Piece vectors (B, S, d), which a frozen stage caches."""
        mask = batch.piece_mask.long() if len(set(batch.piece_lengths)) > 1 else None
        return self.pretrained(input_ids=batch.piece_ids, attention_mask=mask).last_hidden_state  # type: ignore[no-any-return]

    def states(self, pieces: Tensor, batch: Batch) -> States:
        """Words from pieces: the half that always trains."""
        return States(
            words=self.word_layer(pieces, batch),
            word_mask=batch.word_mask,
            pieces=pieces,
            piece_mask=batch.piece_mask,
            first_piece=batch.first_piece,
            last_piece=batch.last_piece,
            piece_ids=batch.piece_ids,
            cls=pieces[:, 0] if batch.has_cls else _masked_mean(pieces, batch.piece_mask),
            lengths=batch.lengths,
            windows=batch.windows,
        )

    def forward(self, batch: Batch) -> States:
        return self.states(self.encode(batch), batch)

    @property
    def tables(self) -> Tables:
        positions = next((m for n, m in self.pretrained.named_modules() if n.endswith(_POSITION_TABLES)), None)
        positions = positions if isinstance(positions, nn.Embedding) else None
        tokens = self.pretrained.get_input_embeddings()
        assert isinstance(tokens, nn.Embedding)
        return Tables(tokens, positions, _position_offset(positions))

    @property
    def most_pieces(self) -> int | None:
        """Maximum number of pieces the pretrained encoder can read; None: no limit."""
        tables = self.tables
        if tables.positions is not None:
            return tables.positions.num_embeddings - tables.position_offset
        limit = getattr(self.pretrained.config, "max_position_embeddings", None)
        return int(limit) if limit else None


def _position_offset(positions: nn.Embedding | None) -> int:
    if positions is None:
        return 0
    declared = getattr(positions, "offset", None)  # as in BART
    if declared is not None:
        return int(declared)
    return positions.padding_idx + 1 if positions.padding_idx is not None else 0  # as in RoBERTa and MPNet; BERT has none


class WordLayer(nn.Module):
    """Pooling to words, dropout and, if set, word shapes and a BiLSTM."""

    def __init__(self, config: EncoderConfig, piece_width: int, shapes: ShapeVocabulary | None = None) -> None:
        super().__init__()
        self.pooling = config.pooling
        self.dropout, self.shape_dropout = nn.Dropout(DROPOUT), nn.Dropout(SHAPE_DROPOUT)
        self.width = piece_width
        self.shapes: nn.Embedding | None = None
        self.joined: nn.Linear | None = None
        if config.word_shapes:
            assert shapes is not None, "word shapes need their vocabulary"
            self.shapes = nn.Embedding(len(shapes), config.word_shapes)
            nn.init.normal_(self.shapes.weight, std=0.02)
            if not config.lstm_layers:
                self.joined = _projection(piece_width + config.word_shapes, piece_width)
        self.lstm: nn.LSTM | None = None
        if config.lstm_layers:
            self.width = piece_width // 2 * 2
            between = DROPOUT if config.lstm_layers > 1 else 0.0
            size = (piece_width + config.word_shapes, self.width // 2, config.lstm_layers)
            self.lstm = nn.LSTM(*size, batch_first=True, bidirectional=True, dropout=between)

    def forward(self, pieces: Tensor, batch: Batch) -> Tensor:
        words = self.dropout(pool(pieces, batch.first_piece, batch.last_piece, self.pooling, batch.most_pieces))  # (B, M, d)
        if self.shapes is not None:
            assert batch.shapes is not None, "the batch was made without the encoder's word shapes"
            words = torch.cat((words, self.shape_dropout(self.shapes(batch.shapes)).to(words.dtype)), dim=-1)
        if self.joined is not None:
            return self.joined(words)  # type: ignore[no-any-return]
        if self.lstm is None:
            return words  # type: ignore[no-any-return]
        if torch.compiler.is_exporting():
            return padded(self.lstm, words, batch.word_mask)
        if self.training and can_persist(words):
            words = persistent(self.lstm, words, batch.word_mask)  # (B, M, d)
        else:
            words = packed(self.lstm, words, batch)  # (B, M, d)
        return self.dropout(words.masked_fill(~batch.word_mask[..., None], 0.0))  # type: ignore[no-any-return]


def _projection(width: int, piece_width: int) -> nn.Linear:
    """Initialized near the identity on the encoder's vector, with small weights for the shapes, to preserve pretraining."""
    layer = nn.Linear(width, piece_width)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.eye_(layer.weight[:, :piece_width].detach())
    nn.init.zeros_(layer.bias)
    return layer


def _masked_mean(pieces: Tensor, mask: Tensor) -> Tensor:
    weights = mask[..., None].to(pieces.dtype)  # (B, S, 1)
    return (pieces * weights).sum(1) / weights.sum(1)  # (B, d)
