"""What entities are spelt in: the sentence's words, or the pieces of its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from anyner.encoding.encoder import States
from anyner.encoding.gold import GoldArrays, only_groups
from anyner.encoding.pooling import take
from anyner.text.windows import Window

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
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
    for number, own in enumerate(sizes):
        word[number, : sum(own)] = np.repeat(np.arange(len(own)), own)
        inside[number, : sum(own)] = np.arange(sum(own)) - np.repeat(np.cumsum(own) - own, own)
    mask = torch.arange(max(lengths), device=states.pieces.device) < states.placed(np.array(lengths))[:, None]  # (B, U)
    index = torch.where(mask, states.first_piece.gather(1, states.placed(word)) + states.placed(inside), 0)  # (B, U)
    ids = states.piece_ids.gather(1, index)  # (B, U)
    embedded = tokens(ids) if tokens is not None else None
    return Units(take(states.pieces, index), embedded, mask, lengths, states.placed(word), ids)


@dataclass(frozen=True, slots=True)
class UnitEntities:
    """Entities of a batch in units, sentence by sentence: entity e has `units[offsets[e] : offsets[e + 1]]`, rising."""

    sentence: Integers  # (E,)
    label: Integers  # (E,)
    units: Integers  # (W,)
    offsets: Integers  # (E + 1,)

    @classmethod
    def in_words(cls, gold: GoldArrays) -> UnitEntities:
        return cls(gold.sentence, gold.label, gold.words, gold.offsets)

    @classmethod
    def in_pieces(cls, gold: GoldArrays, windows: Sequence[Window]) -> UnitEntities:
        """Each word by all of its pieces, counted from the first piece of the window's first word."""
        starts = [np.cumsum([0, *map(len, window.pieces)]) for window in windows]
        sentence_of = np.repeat(gold.sentence, np.diff(gold.offsets)).tolist()  # (W,)
        spelt = [
            np.arange(starts[sentence][word], starts[sentence][word + 1])
            for sentence, word in zip(sentence_of, gold.words.tolist(), strict=True)
        ]
        ends = np.cumsum([0, *map(len, spelt)])
        return cls(gold.sentence, gold.label, np.concatenate([np.zeros(0, dtype=np.int64), *spelt]), ends[gold.offsets])

    def mirrored(self, lengths: Sequence[int]) -> UnitEntities:
        """The same in sentences read from the end: what was last comes first."""
        sizes = np.diff(self.offsets)
        sentence_of = np.repeat(self.sentence, sizes)  # (W,)
        first, past = (np.repeat(ends, sizes) for ends in (self.offsets[:-1], self.offsets[1:]))  # (W,) each
        turned = self.units[first + past - 1 - np.arange(len(self.units))]  # (W,) each entity's units in reverse
        return UnitEntities(self.sentence, self.label, np.array(lengths)[sentence_of] - 1 - turned, self.offsets)

    def only(self, kept: Flags) -> UnitEntities:
        """Those of the entities (E,) that are kept."""
        return UnitEntities(self.sentence[kept], self.label[kept], *only_groups(self.units, self.offsets, kept))

    @property
    def first(self) -> Integers:
        return self.units[self.offsets[:-1]]

    @property
    def last(self) -> Integers:
        return self.units[self.offsets[1:] - 1]
