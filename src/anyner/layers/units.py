"""The units that entities are generated from: the sentence's words, or the pieces of its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
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

    vectors: Tensor  # (B, U, d) contextual
    embedded: Tensor  # (B, U, e) token embeddings
    mask: Tensor  # (B, U) bool
    lengths: tuple[int, ...]
    """Units of each sentence, on the host."""
    word: Tensor | None  # (B, U) the word that a unit belongs to; None: units are words
    ids: Tensor | None = None  # (B, U) the piece that a unit is; None: units are words

    def mirrored(self) -> Units:
        """The sentences reversed; padding stays at the end."""
        last = self.mask.sum(1)[:, None] - 1  # (B, 1)
        index = (last - torch.arange(self.mask.shape[1], device=last.device)).clamp(min=0)  # (B, U)
        return Units(take(self.vectors, index), take(self.embedded, index), self.mask, self.lengths, None)


@dataclass(frozen=True, slots=True)
class WordUnits:
    """The units of every word, on the host: word w of sentence b has `size[b, w]`, starting at unit `first[b, w]`."""

    first: Integers  # (B, M)
    size: Integers  # (B, M) 0 beyond the sentence

    @classmethod
    def of(cls, windows: Sequence[Window], kind: UnitKind) -> WordUnits:
        lengths = np.array([len(window.pieces) for window in windows])
        words = np.arange(lengths.max()) < lengths[:, None]  # (B, M)
        size = words.astype(np.int64)
        if kind == "pieces":
            size[words] = np.fromiter(map(len, chain.from_iterable(window.pieces for window in windows)), dtype=np.int64)
        return cls(np.cumsum(size, axis=1) - size, size)


def units_of(states: States, kind: UnitKind, tokens: nn.Embedding) -> Units:
    """The units of a batch; `tokens` is the token embedding."""
    if kind == "words":
        first, last = (tokens(states.piece_ids.gather(1, places)) for places in (states.first_piece, states.last_piece))
        return Units(states.words, torch.maximum(first, last), states.word_mask, states.lengths, None)
    by_word = WordUnits.of(states.windows, kind)
    lengths = by_word.size.sum(1)  # (B,)
    real = np.arange(lengths.max()) < lengths[:, None]  # (B, U)
    words = np.zeros(real.shape, dtype=np.int64)
    words[real] = np.repeat(np.arange(by_word.size.size), by_word.size.ravel()) % by_word.size.shape[1]
    mask, word = states.placed(real), states.placed(words)
    inside = torch.arange(real.shape[1], device=word.device) - states.placed(by_word.first).gather(1, word)  # index in its word
    index = torch.where(mask, states.first_piece.gather(1, word) + inside, 0)  # (B, U)
    ids = states.piece_ids.gather(1, index)  # (B, U)
    return Units(take(states.pieces, index), tokens(ids), mask, tuple(lengths.tolist()), word, ids)


@dataclass(frozen=True, slots=True)
class UnitEntities:
    """Entities of a batch in units, sentence by sentence: entity e has `units[offsets[e] : offsets[e + 1]]`, ascending."""

    sentence: Integers  # (E,)
    label: Integers  # (E,)
    units: Integers  # (W,)
    offsets: Integers  # (E + 1,)

    @classmethod
    def of(cls, gold: GoldArrays, by_word: WordUnits) -> UnitEntities:
        """Gold entities, each word replaced by its units."""
        place = np.repeat(gold.sentence, np.diff(gold.offsets)), gold.words  # (W,) each
        first, size = by_word.first[place], by_word.size[place]
        ends = np.cumsum([0, *size])
        units = np.repeat(first - ends[:-1], size) + np.arange(ends[-1])
        return cls(gold.sentence, gold.label, units, ends[gold.offsets])

    def mirrored(self, lengths: Sequence[int]) -> UnitEntities:
        """The entities in reversed sentences, in reverse order; `lengths` are in units."""
        turned = np.array(lengths)[np.repeat(self.sentence, np.diff(self.offsets))] - 1 - self.units  # (W,)
        return UnitEntities(self.sentence[::-1], self.label[::-1], turned[::-1], self.offsets[-1] - self.offsets[::-1])

    def only(self, kept: Flags) -> UnitEntities:
        """The entities (E,) that are kept."""
        return UnitEntities(self.sentence[kept], self.label[kept], *only_groups(self.units, self.offsets, kept))

    @property
    def first(self) -> Integers:
        return self.units[self.offsets[:-1]]

    @property
    def last(self) -> Integers:
        return self.units[self.offsets[1:] - 1]
