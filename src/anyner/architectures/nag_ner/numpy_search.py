"""Sequences of words, exactly, as `search.py` finds them, where every unit is a word. numpy only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anyner.architectures.nag_ner.config import FINITE_NONE, IMPOSSIBLE
from anyner.architectures.numpy_spans import Floats, Integers

NONE = float("-inf")
_END, _MORE, _FIRST_UNIT = 0, 1, 2
"""Symbols, as `targets.py` numbers them."""


@dataclass(frozen=True, slots=True)
class WordScores:
    """The output scores of Q blocks by words: log scores, -inf for what cannot be."""

    placed: Floats  # (Q, R, L) of placing each of R words - 0 is the block's - behind so many
    end: Floats  # (Q, L + 1) of ending behind so many words
    more: Floats  # (Q, L + 1) of not ending: only behind all that fit

    @classmethod
    def of(cls, symbols: Floats, word: Integers, lengths: Integers, farthest: int) -> WordScores:
        """From the log probabilities (Q, L + 1, 2 + M) of symbols, of blocks at words (Q,) in sentences of `lengths` (Q,)."""
        longest, words, none = symbols.shape[1] - 1, symbols.shape[2] - _FIRST_UNIT, np.float32(NONE)
        index = word[:, None] + np.arange(min(farthest, words))  # (Q, R)
        real = index < lengths[:, None]
        of_words = symbols[:, :longest, _FIRST_UNIT:]  # (Q, L, M)
        placed = np.take_along_axis(of_words, np.minimum(index, words - 1)[:, None], 2).transpose(0, 2, 1)  # (Q, R, L)
        placed = np.where(~real[..., None] | (placed < IMPOSSIBLE), none, placed)
        only_last = np.arange(longest + 1) == longest
        return cls(placed, symbols[..., _END], np.where(only_last, symbols[..., _MORE], none))


def _contiguous(placed: Floats, end: Floats) -> Floats:
    """Log scores of the contiguous sequences by their number of words: (Q, W)."""
    number = np.arange(min(placed.shape[1:]))
    own: Floats = placed[:, number, number].cumsum(1) + end[:, number + 1]
    return own


def log_partition(placed: Floats, end: Floats, gap_cost: Floats | None) -> Floats:
    """Log of the sum over all sequences of each block: (Q,). Arguments as in `WordScores`, `best_sequences`."""
    none, words, longest = np.float32(FINITE_NONE), placed.shape[1], placed.shape[2]
    placed, end = np.maximum(placed, none), np.maximum(end, none)
    total: Floats
    if gap_cost is None:
        total = np.logaddexp.reduce(_contiguous(placed, end), axis=1)
        return total
    placed = placed[:, ::-1]  # the last word first
    behind = np.repeat(end[:, longest, None], words, axis=1)  # (Q, R) sums over all ways on from a word
    for written in range(longest - 1, 0, -1):
        from_word = np.pad(placed[:, :, written] + behind, ((0, 0), (2, 0)), constant_values=none)  # (Q, 2 + R)
        ways = np.logaddexp(end[:, written, None], from_word[:, 1:-1])  # so that word r finds the next at r + 1
        behind = np.logaddexp(ways, np.logaddexp.accumulate(from_word, axis=1)[:, :-2] - gap_cost[written])
    total = placed[:, -1, 0] + behind[:, -1]
    return total


@dataclass(frozen=True, slots=True)
class Best:
    """The k best sequences of each of Q blocks, best first."""

    score: Floats  # (Q, k) -inf: there is none
    count: Integers  # (Q, k) words of it, 0 where there is none
    words: Integers  # (Q, k, W) counted from the block's word, rising, first 0; what is beyond `count` means nothing


@dataclass(frozen=True, slots=True)
class _Ways:
    """Some ways to go on from each word, best first."""

    score: Floats  # (Q, R, n)
    first: Integers  # (Q, R, n) how it begins; 0: the sequence ends; else 1 + word * k + which of the ways on from that word

    def later(self, words: int) -> _Ways:
        """For each word what is there for the word that many later."""
        beyond = ((0, 0), (0, words), (0, 0))
        return _Ways(np.pad(self.score, beyond, constant_values=NONE)[:, words:], np.pad(self.first, beyond)[:, words:])

    def best_of_later(self, count: int) -> _Ways:
        """For each word the best of it and of all later ones: of 2, 4, 8 … words, each from two stretches half as long."""
        best, reach = self, 1
        while reach < self.score.shape[1]:
            best, reach = _best_of([best, best.later(reach)], count), 2 * reach
        return best


def _best_of(choices: list[_Ways], count: int) -> _Ways:
    """The best of all, of equal ones those that stand first."""
    score, first = (np.concatenate([getattr(choice, name) for choice in choices], axis=-1) for name in ("score", "first"))
    order = np.argsort(-score, axis=-1, kind="stable")[..., :count]
    return _Ways(np.take_along_axis(score, order, -1), np.take_along_axis(first, order, -1))


def best_sequences(placed: Floats, end: Floats, gap_cost: Floats | None, count: int) -> Best:
    """The `count` best sequences of each block, W = min(R, L) words at most; `placed` and `end` as in `WordScores`.

    `gap_cost` (L,) is subtracted for a jump over at least one word behind so many; None: there are no jumps.
    """
    if gap_cost is None:
        return _best_contiguous(placed, end, count)
    blocks, words, longest = placed.shape
    score = np.full((blocks, longest + 1, words, count), NONE, dtype=np.float32)  # of the best ways on behind so many words
    begin = np.zeros(score.shape, dtype=np.int64)
    score[:, 1:, :, 0] = end[:, 1:, None]
    first = np.broadcast_to(np.arange(1, words * count + 1).reshape(words, count), (blocks, words, count))
    for written in range(longest - 1, 0, -1):
        from_word = _Ways(placed[:, :, written, None] + score[:, written + 1], first)  # (Q, R, k)
        jump = from_word.later(2).best_of_later(count)
        ending = _Ways(score[:, written, :, :1], begin[:, written, :, :1])
        best = _best_of([ending, from_word.later(1), _Ways(jump.score - gap_cost[written], jump.first)], count)
        kept = best.score.shape[2]
        score[:, written, :, :kept], begin[:, written, :, :kept] = best.score, best.first
    return _followed(placed, score, begin)


def _best_contiguous(placed: Floats, end: Floats, count: int) -> Best:
    score = _contiguous(placed, end)
    blocks, words = score.shape
    score = np.pad(score, ((0, 0), (0, max(0, count - words))), constant_values=NONE)
    order = np.argsort(-score, axis=1, kind="stable")[:, :count]
    score = np.take_along_axis(score, order, 1)  # (Q, k)
    return Best(score, np.where(score > NONE, order + 1, 0), np.broadcast_to(np.arange(words), (blocks, count, words)))


def _followed(placed: Floats, score: Floats, begin: Integers) -> Best:
    """The sequences themselves, from the block words along the ways on (Q, L + 1, R, k)."""
    blocks, most, words, count = score.shape
    row, rank = np.arange(blocks)[:, None], np.broadcast_to(np.arange(count), (blocks, count))
    total = placed[:, :1, 0] + score[:, 1, 0]  # (Q, k)
    word, going = np.zeros((blocks, count), dtype=np.int64), total > NONE
    size, path = going.astype(np.int64), [word]
    for written in range(1, min(words, most - 1)):
        chosen = begin[row, written, word, rank]  # (Q, k)
        going = going & (chosen > 0)
        word, rank = np.where(going, (chosen - 1) // count, word), np.where(going, (chosen - 1) % count, rank)
        size = size + going
        path.append(np.where(going, word, 0))
    return Best(total, size, np.stack(path, axis=-1))
