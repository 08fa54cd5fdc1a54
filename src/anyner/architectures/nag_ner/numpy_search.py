"""Exact search over word sequences, as in `search.py`, but every unit is a word. numpy only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anyner.architectures.nag_ner.config import END, FINITE_NONE, FIRST_UNIT, IMPOSSIBLE, MORE
from anyner.architectures.numpy_spans import Floats, Integers

NONE = float("-inf")


@dataclass(frozen=True, slots=True)
class WordScores:
    """The output scores of Q blocks by words: log scores, -inf if impossible."""

    placed: Floats  # (Q, R, L) of each of R words, 0 being the block's, after 0, 1 … words
    end: Floats  # (Q, L + 1) of ending after 0, 1 … words
    more: Floats  # (Q, L + 1) of not ending: only after a full block

    @classmethod
    def of(cls, symbols: Floats, word: Integers, lengths: Integers, farthest: int) -> WordScores:
        """From the log probabilities (Q, L + 1, 2 + M) of symbols, of blocks at words (Q,) in sentences of `lengths` (Q,)."""
        longest, words, none = symbols.shape[1] - 1, symbols.shape[2] - FIRST_UNIT, np.float32(NONE)
        index = word[:, None] + np.arange(min(farthest, words))  # (Q, R)
        real = index < lengths[:, None]
        of_words = symbols[:, :longest, FIRST_UNIT:]  # (Q, L, M)
        placed = np.take_along_axis(of_words, np.minimum(index, words - 1)[:, None], 2).transpose(0, 2, 1)  # (Q, R, L)
        placed = np.where(~real[..., None] | (placed < IMPOSSIBLE), none, placed)
        only_last = np.arange(longest + 1) == longest
        return cls(placed, symbols[..., END], np.where(only_last, symbols[..., MORE], none))


def _contiguous(placed: Floats, end: Floats) -> Floats:
    """Log scores of the contiguous sequences by their number of words: (Q, W)."""
    number = np.arange(min(placed.shape[1:]))
    own: Floats = placed[:, number, number].cumsum(1) + end[:, number + 1]
    return own


def log_partition(placed: Floats, end: Floats, gap_cost: Floats | None) -> Floats:
    """Log-partition over all sequences of each block: (Q,). Arguments as in `WordScores`, `best_sequences`."""
    none = np.float32(FINITE_NONE)
    placed, end = np.maximum(placed, none), np.maximum(end, none)
    total: Floats
    if gap_cost is None:
        total = np.logaddexp.reduce(_contiguous(placed, end), axis=1)
        return total
    total = _continuations(placed, end, gap_cost, best=False)[0][:, 0]
    return total


def _continuations(placed: Floats, end: Floats, gap_cost: Floats, *, best: bool) -> list[Floats]:
    """Log scores of each word with its best continuation, or the sum over all: (Q, R) for each number of words before it."""
    none, combine = np.float32(NONE if best else FINITE_NONE), np.maximum if best else np.logaddexp
    placed, words, longest = placed[:, ::-1], placed.shape[1], placed.shape[2]  # the last word first
    after = np.repeat(end[:, longest, None], words, axis=1)  # (Q, R) over all continuations after a word
    continuations = []
    for written in range(longest - 1, -1, -1):
        own = placed[:, :, written] + after  # (Q, R)
        continuations.append(own[:, ::-1])
        if written:
            from_word = np.pad(own, ((0, 0), (2, 0)), constant_values=none)  # (Q, 2 + R)
            ways = combine(end[:, written, None], from_word[:, 1:-1])  # in `from_word`, the word after r is at r + 1
            after = combine(ways, combine.accumulate(from_word, axis=1)[:, :-2] - gap_cost[written])
    return continuations[::-1]


@dataclass(frozen=True, slots=True)
class Best:
    """The k best sequences of each of Q blocks, best first."""

    score: Floats  # (Q, k) -inf: no sequence
    count: Integers  # (Q, k) number of words, 0: no sequence
    words: Integers  # (Q, k, W) relative to the block's word, ascending from 0; arbitrary beyond `count`


def best_sequences(placed: Floats, end: Floats, gap_cost: Floats | None, count: int) -> Best:
    """The `count` best sequences of each block, W = min(R, L) words at most; `placed` and `end` as in `WordScores`.

    `gap_cost` (L,) is subtracted for skipping words after 0, 1 … words; None: no word is skipped.
    """
    if gap_cost is None:
        return _best_contiguous(placed, end, count)
    return _forwards(placed, end, gap_cost, _continuations(placed, end, gap_cost, best=True), count)


def _best_contiguous(placed: Floats, end: Floats, count: int) -> Best:
    score = _contiguous(placed, end)
    blocks, words = score.shape
    score = np.pad(score, ((0, 0), (0, max(0, count - words))), constant_values=NONE)
    order = np.argsort(-score, axis=1, kind="stable")[:, :count]
    score = np.take_along_axis(score, order, 1)  # (Q, k)
    return Best(score, np.where(score > NONE, order + 1, 0), np.broadcast_to(np.arange(words), (blocks, count, words)))


def _forwards(placed: Floats, end: Floats, gap_cost: Floats, continuations: list[Floats], count: int) -> Best:
    """The best sequences, searched forward from the block's word; `continuations` (Q, R) by the number of words before."""
    blocks, words, longest = placed.shape
    none, word, row = np.float32(NONE), np.arange(words), np.arange(blocks)[:, None]
    ended = np.broadcast_to(np.arange(count) > 0, (blocks, count))  # (Q, k), as all below; at first one prefix
    score, number = np.where(ended, none, placed[:, :1, 0]), (~ended).astype(np.int64)
    path = np.zeros((blocks, count, min(words, longest)), dtype=np.int64)
    for written in range(1, path.shape[2]):
        before, jump = path[:, :, written - 1], gap_cost[written]
        continuing = score[..., None] + continuations[written][:, None]  # (Q, k, R)
        continuing = np.where(word > before[..., None] + 1, continuing - jump, continuing)
        continuing = np.where((word <= before[..., None]) | ended[..., None], none, continuing)
        ending = np.where(ended, score, score + end[:, written, None])
        choices = np.concatenate([ending[..., None], continuing], axis=-1).reshape(blocks, -1)  # in lexicographic order
        chosen = np.sort(np.argsort(-choices, axis=1, kind="stable")[:, :count], axis=1)
        best, which, following = choices[row, chosen], chosen // (words + 1), chosen % (words + 1) - 1
        ended = (following < 0) | (best == none)
        path, last = path[row, which], before[row, which]
        following = np.where(ended, last, following)
        own = placed[row, following, written]
        score = np.where(ended, best, score[row, which] + own - np.where(following > last + 1, jump, np.float32(0)))
        number = number[row, which] + ~ended
        path[:, :, written] = following
        if ended.all():
            break
    else:
        score = np.where(ended, score, score + end[:, path.shape[2], None])
    order = np.argsort(-score, axis=1, kind="stable")
    score, number = score[row, order], number[row, order]
    return Best(score, np.where(score > NONE, number, 0), path[row, order])
