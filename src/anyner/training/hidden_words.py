"""Texts with some of their words hidden: what an encoder learns a language from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

import numpy as np
import torch
from torch import Tensor

from anyner.document import Document
from anyner.encoding.pieces import PieceVocabulary
from anyner.inference.batching import batches
from anyner.text.config import TextConfig
from anyner.text.windows import Pieces, words_of
from anyner.training.data import homes_of

NOT_ASKED = -100
"""In place of a piece that is shown: cross-entropy passes over it."""
_MASKS = ("[MASK]", "<mask>")
_SHOWN_AS_IT_IS, _SHOWN_AS_ANOTHER = 0.1, 0.1
"""Of the hidden words, as in BERT: else the encoder would have to say something of those places only where a mask stands."""

Words = tuple[Pieces, ...]


@dataclass(frozen=True, slots=True)
class HiddenBatch:
    shown: Tensor  # (B, S)
    attention_mask: Tensor  # (B, S) 1 or 0
    hidden: Tensor  # (B, S) the pieces to be found, NOT_ASKED elsewhere

    def to(self, device: torch.device) -> HiddenBatch:
        return HiddenBatch(*(one.to(device, non_blocking=True) for one in (self.shown, self.attention_mask, self.hidden)))


class HiddenWords:
    """Windows of words, and batches of them in which a share of the words is hidden, other ones each time."""

    def __init__(self, windows: Sequence[Words], vocabulary: PieceVocabulary, share: float) -> None:
        self.windows = windows
        self._sizes = [sum(map(len, window)) for window in windows]
        self._share, self._frame = share, vocabulary.frame
        known = (vocabulary.tokenizer.token_to_id(name) for name in _MASKS)
        self._mask = next((piece for piece in known if piece is not None), vocabulary.frame.unknown)
        self._pieces = vocabulary.tokenizer.get_vocab_size()

    def plan(self, windows: Sequence[int], batch_tokens: int, random: np.random.Generator) -> list[list[int]]:
        """All these windows in batches of like length, in an order of chance."""
        order = sorted(random.permutation(windows).tolist(), key=self._sizes.__getitem__)
        frame = len(self._frame.prefix) + len(self._frame.suffix)
        plan = list(batches([size + frame for size in self._sizes], order, batch_tokens))
        return [plan[number] for number in random.permutation(len(plan))]

    def batch(self, windows: Sequence[int], random: np.random.Generator) -> HiddenBatch:
        prefix, suffix = self._frame.prefix, self._frame.suffix
        longest = max(self._sizes[number] for number in windows) + len(prefix) + len(suffix)
        shown = np.full((len(windows), longest), self._frame.pad, dtype=np.int64)
        attention, hidden = np.zeros_like(shown), np.full_like(shown, NOT_ASKED)
        for row, number in enumerate(windows):
            words = self.windows[number]
            pieces = np.fromiter(chain.from_iterable(words), dtype=np.int64)
            fate = np.repeat(random.random(len(words)), [len(word) for word in words])  # of each piece, the same for a word
            as_it_is, as_another = self._share * _SHOWN_AS_IT_IS, self._share * (_SHOWN_AS_IT_IS + _SHOWN_AS_ANOTHER)
            others = random.integers(self._pieces, size=len(pieces))
            covered = np.select([fate < as_it_is, fate < as_another, fate < self._share], [pieces, others, self._mask], pieces)
            whole = [*prefix, *covered, *suffix]
            shown[row, : len(whole)], attention[row, : len(whole)] = whole, 1
            hidden[row, len(prefix) : len(prefix) + len(pieces)] = np.where(fate < self._share, pieces, NOT_ASKED)
        return HiddenBatch(*map(torch.from_numpy, (shown, attention, hidden)))


def word_windows(
    documents: Sequence[Document], text: TextConfig, vocabulary: PieceVocabulary, most_pieces: int
) -> Iterator[Words]:
    """Documents that follow each other as parts of one `doc` are read together, as many words as there is room for."""
    room = most_pieces - len(vocabulary.frame.prefix) - len(vocabulary.frame.suffix)
    vocabulary.limit(room)
    for _, parts in groupby(zip(homes_of(documents), documents, strict=True), key=lambda pair: pair[0]):
        held: list[Pieces] = []
        size = 0
        for _, document in parts:
            for word in vocabulary.cut([document.text[start:end] for start, end in words_of(document, text)]):
                if size + len(word) > room:
                    yield tuple(held)
                    held, size = [], 0
                held.append(word)
                size += len(word)
        if held:
            yield tuple(held)
