"""What entities are spelt in: the sentence's words, or the pieces of its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from anyner.encoding.encoder import States
from anyner.encoding.pooling import take

UnitKind = Literal["words", "pieces"]


@dataclass(frozen=True, slots=True)
class Units:
    """U units of each of B sentences."""

    vectors: Tensor  # (B, U, d) in the sentence
    embedded: Tensor | None  # (B, U, e) by themselves
    mask: Tensor  # (B, U) bool
    lengths: tuple[int, ...]
    """Units of each sentence, on the host."""
    word: Tensor | None  # (B, U) the word that a unit belongs to; None: units are words
    ids: Tensor | None = None  # (B, U) the piece that a unit is; None: units are words

    def mirrored(self) -> Units:
        """The sentences from their ends on; what fills them up stays behind."""
        last = self.mask.sum(1)[:, None] - 1  # (B, 1)
        index = (last - torch.arange(self.mask.shape[1], device=last.device)).clamp(min=0)  # (B, U)
        embedded = take(self.embedded, index) if self.embedded is not None else None
        return Units(take(self.vectors, index), embedded, self.mask, self.lengths, None)


def units_of(states: States, kind: UnitKind, tokens: nn.Embedding | None) -> Units:
    """`tokens` embed pieces; None: units have no embedding of their own."""
    if kind == "words":
        embedded = None
        if tokens is not None:
            first, last = (tokens(states.piece_ids.gather(1, places)) for places in (states.first_piece, states.last_piece))
            embedded = torch.maximum(first, last)  # (B, M, e)
        return Units(states.words, embedded, states.word_mask, states.lengths, None)
    sizes = [[len(pieces) for pieces in window.pieces] for window in states.windows]
    lengths = tuple(map(sum, sizes))
    word, inside = np.zeros((2, len(sizes), max(lengths)), dtype=np.int64)  # of each piece, and its number in that word
    for row, own in enumerate(sizes):
        word[row, : sum(own)] = np.repeat(np.arange(len(own)), own)
        inside[row, : sum(own)] = np.arange(sum(own)) - np.repeat(np.cumsum(own) - own, own)
    number = torch.arange(max(lengths), device=states.pieces.device)
    mask = number < states.placed(np.array(lengths))[:, None]  # (B, U)
    index = torch.where(mask, states.first_piece.gather(1, states.placed(word)) + states.placed(inside), 0)  # (B, U)
    ids = states.piece_ids.gather(1, index)  # (B, U)
    embedded = tokens(ids) if tokens is not None else None
    return Units(take(states.pieces, index), embedded, mask, lengths, states.placed(word), ids)
