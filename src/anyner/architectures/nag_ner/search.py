"""Sequences of words, exactly: the most probable ones of a block, and the log-partition over all of them.

A block scores each word at each of its positions, whatever stands at the others. A sequence begins with the block's word and
goes on with later ones, so what may follow a word depends only on that word and on the units generated so far. Both recursions go
from the last unit to the first: the sequence ends, or the next word follows, or - over a gap - a later one. A contiguous
sequence is known by its number of words, and running sums give the scores of all of them at once.

Of equal sequences the nearest words come first, in the order of tuples: (0, 1), (0, 1, 2), (0, 1, 3), (0, 2). Candidates are put
side by side in this order, and sorting is stable. Equal means that the float32 sums are, added from the end, those of
contiguous ones from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from anyner.architectures.nag_ner.config import FINITE_NONE, IMPOSSIBLE
from anyner.architectures.nag_ner.network import Blocks, Sentences
from anyner.architectures.nag_ner.targets import END, FIRST_UNIT, MORE

NONE = float("-inf")
"""The log score of what is not there."""
LARGEST = 2**26  # numbers in one tensor


@dataclass(frozen=True, slots=True)
class WordScores:
    """The output scores of Q blocks by words: log scores, -inf for what cannot be."""

    placed: Tensor  # (Q, R, L) of placing each of R words - 0 is the block's - behind so many units
    sizes: Tensor  # (Q, R) units of each word
    end: Tensor  # (Q, L + 1) of ending behind so many units
    more: Tensor  # (Q, L + 1) of not ending: only behind all that fit
    largest: int
    """Most units of a word."""


def word_scores(symbols: Tensor, blocks: Blocks, sentences: Sentences, farthest: int) -> WordScores:
    """From the log probabilities (Q, L + 1, 2 + U) of symbols."""
    states, units = sentences.states, sentences.units
    longest, words = symbols.shape[1] - 1, states.words.shape[1]
    index = blocks.word[:, None] + torch.arange(min(farthest, words), device=blocks.word.device)  # (Q, R)
    real = index < states.word_mask.sum(1)[blocks.sentence][:, None]
    index = index.clamp(max=words - 1)
    first, size = (states.placed(part)[blocks.sentence[:, None], index] for part in (units.first, units.size))
    of_units = symbols[:, :longest, FIRST_UNIT:]  # (Q, L, U)
    placed = torch.zeros(*index.shape, longest, device=index.device)
    largest = int(units.size.max())
    for number in range(largest):
        unit = (first + number).clamp(max=of_units.shape[2] - 1)  # (Q, R)
        own = of_units.gather(2, unit[:, None].expand(-1, longest, -1)).transpose(1, 2)  # (Q, R, L)
        shifted = functional.pad(own[..., number:], (0, min(number, longest)), value=NONE)[..., :longest]
        placed = placed + torch.where((number < size)[..., None], shifted, 0.0)
    placed = placed.masked_fill(~real[..., None] | (placed < IMPOSSIBLE), NONE)
    only_last = torch.arange(longest + 1, device=index.device) == longest
    more = symbols[..., MORE].masked_fill(~only_last, NONE)
    return WordScores(placed, size, symbols[..., END], more, largest)


def _contiguous(placed: Tensor, sizes: Tensor, end: Tensor, none: float) -> tuple[Tensor, Tensor]:
    """Log scores (Q, R) of the contiguous sequences by their number of words, `none` where they do not fit, and their units."""
    longest, units = placed.shape[2], sizes.cumsum(1)  # (Q, R) up to the end of each word
    own = placed.gather(2, (units - sizes).clamp(max=longest - 1)[..., None])[..., 0]  # (Q, R)
    score = own.masked_fill(units > longest, none).cumsum(1) + end.gather(1, units.clamp(max=longest))
    return score, units


def log_partition(placed: Tensor, sizes: Tensor, end: Tensor, gap_cost: Tensor | None, *, largest: int) -> Tensor:
    """Log of the sum over all sequences of each block, with gradients: (Q,). Arguments as in `WordScores`, `best_sequences`."""
    if gap_cost is None:
        score, _ = _contiguous(placed.float().clamp(min=FINITE_NONE), sizes, end.float().clamp(min=FINITE_NONE), FINITE_NONE)
        return score.logsumexp(1)
    words, units = placed.shape[1:]
    placed, end = placed.float().clamp(min=FINITE_NONE).flip(1), end.float().clamp(min=FINITE_NONE)  # the last word first
    sizes = sizes.flip(1)
    behind = {units: end[:, units, None].expand(-1, words)}  # sums over all ways on from a word (Q, R), by units so far
    nothing = torch.full_like(behind[units], FINITE_NONE)

    def after(written: int) -> Tensor:
        """What is behind each word once its units are written, too: (Q, R)."""
        found = behind.get(written + 1, nothing)
        for size in range(2, largest + 1):
            found = torch.where(sizes == size, behind.get(written + size, nothing), found)
        return found

    for written in range(units - 1, 0, -1):
        from_word = functional.pad(placed[:, :, written] + after(written), (2, 0), value=FINITE_NONE)  # (Q, 2 + R)
        over_gap = from_word.logcumsumexp(1)[:, :-2] - gap_cost[written]
        ways = [end[:, written, None].expand(-1, words), from_word[:, 1:-1], over_gap]  # so that word r finds the next at r + 1
        behind[written] = torch.stack(ways).logsumexp(0)
    return placed[:, -1, 0] + after(0)[:, -1]


@dataclass(frozen=True, slots=True)
class Best:
    """The k best sequences of each of Q blocks, best first."""

    score: Tensor  # (Q, k) -inf: there is none
    count: Tensor  # (Q, k) words of it, 0 where there is none
    units: Tensor  # (Q, k) units of these
    words: Tensor  # (Q, k, W) counted from the block's word, rising, first 0; what is beyond `count` means nothing


@dataclass(frozen=True, slots=True)
class _Ways:
    """Some ways to go on from each word, best first."""

    score: Tensor  # (..., n)
    first: Tensor  # (..., n) how it begins; 0: the sequence ends; else 1 + word * k + which of the ways on from that word

    def later(self, words: int) -> _Ways:
        """For each word what is there for the word that many later."""
        beyond = (0, 0, 0, words)
        return _Ways(functional.pad(self.score, beyond, value=NONE)[:, words:], functional.pad(self.first, beyond)[:, words:])

    def best_of_later(self, count: int) -> _Ways:
        """For each word the best of it and of all later ones: of 2, 4, 8 … words, each from two stretches half as long."""
        if count == 1:  # of equal ones cummax takes the last, which here is the nearest word
            score, place = self.score.flip(1).cummax(1)
            return _Ways(score.flip(1), self.first.flip(1).gather(1, place).flip(1))
        best, reach = self, 1
        while reach < self.score.shape[1]:
            best, reach = _best_of([best, best.later(reach)], count), 2 * reach
        return best


def best_sequences(placed: Tensor, sizes: Tensor, end: Tensor, gap_cost: Tensor | None, *, count: int) -> Best:
    """The `count` best sequences of each block, W = min(R, L) words at most; `placed`, `sizes`, `end` as in `WordScores`.

    `gap_cost` (L,) is subtracted for a jump over at least one word behind so many units; None: there are no jumps.
    """
    if gap_cost is None:
        return _best_contiguous(placed.detach().float(), sizes.long(), end.detach().float(), count)
    units = placed.shape[2]
    at_once = max(1, LARGEST // (placed.shape[1] * (units + 2) * count))
    split = (torch.split(part.detach(), at_once) for part in (placed.float(), sizes.long(), end.float()))
    parts = [
        _followed(own, _best_ways(own, size, last, gap_cost.detach(), count), size)
        for own, size, last in zip(*split, strict=True)
    ]
    return Best(*(torch.cat(part) for part in zip(*parts, strict=True)))


def _best_contiguous(placed: Tensor, sizes: Tensor, end: Tensor, count: int) -> Best:
    words, longest = placed.shape[1:]
    score, units = _contiguous(placed, sizes, end, NONE)
    missing = (0, max(0, count - words))
    score, order = functional.pad(score, missing, value=NONE).sort(dim=1, descending=True, stable=True)
    score, order, units = score[:, :count], order[:, :count], functional.pad(units, missing)
    there, every = score > NONE, torch.arange(min(words, longest), device=placed.device)
    number, own = torch.where(there, order + 1, 0), torch.where(there, units.gather(1, order), 0)  # (Q, k) each
    return Best(score, number, own, every.expand(*score.shape, -1))


def _best_ways(placed: Tensor, sizes: Tensor, end: Tensor, gap_cost: Tensor, count: int) -> _Ways:
    """The best ways on behind so many units from each word: (Q, L + 2, R, k). The last units are for words that do not fit."""
    blocks, words, units = placed.shape
    shape = (blocks, units + 2, words, count)
    ways = _Ways(placed.new_full(shape, NONE), torch.zeros(shape, dtype=torch.int32, device=placed.device))
    ways.score[:, 1:-1, :, 0] = end[:, 1:, None]
    first = torch.arange(1, words * count + 1, dtype=torch.int32, device=placed.device).view(words, count).expand(blocks, -1, -1)
    for written in range(units - 1, 0, -1):
        after = (written + sizes).clamp(max=units + 1)[:, None, :, None].expand(-1, -1, -1, count)  # (Q, 1, R, k)
        from_word = _Ways(placed[:, :, written, None] + ways.score.gather(1, after)[:, 0], first)  # (Q, R, k)
        jump = from_word.later(2).best_of_later(count)
        ending = _Ways(ways.score[:, written, :, :1], ways.first[:, written, :, :1])
        best = _best_of([ending, from_word.later(1), _Ways(jump.score - gap_cost[written], jump.first)], count)
        ways.score[:, written], ways.first[:, written] = best.score, best.first
    return ways


def _best_of(choices: list[_Ways], count: int) -> _Ways:
    """The best of all, of equal ones those that stand first."""
    score, order = torch.cat([choice.score for choice in choices], dim=-1).sort(dim=-1, descending=True, stable=True)
    first = torch.cat([choice.first for choice in choices], dim=-1)
    return _Ways(score[..., :count], first.gather(-1, order[..., :count]))


def _followed(placed: Tensor, ways: _Ways, sizes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Scores, counts, units and words of the sequences themselves, from the block words along the ways on (Q, L + 2, R, k).

    A state is the units written, the word and the rank in one number; 0, which nothing else needs, is the end of the sequence.
    """
    most, words, count = ways.score.shape[1:]
    chosen = (ways.first.long() - 1).clamp(min=0)  # (Q, L + 2, R, k)
    word, rank = chosen // count, chosen % count
    written = torch.arange(most, device=placed.device)[:, None, None] + sizes.gather(1, word.flatten(1)).view_as(word)
    state = (written.clamp(max=most - 1) * words + word) * count + rank
    following = torch.where(ways.first > 0, state, 0).flatten(1)  # (Q, (L + 2) R k)
    now = sizes[:, :1].clamp(max=most - 1) * words * count + torch.arange(count, device=placed.device)  # (Q, k) block words
    score = placed[:, :1, 0] + ways.score.flatten(1).gather(1, now)  # (Q, k)
    path = [now]
    for _ in range(min(words, most - 2) - 1):
        path.append(following.gather(1, path[-1]))
    states = torch.stack(path, dim=-1)  # (Q, k, W)
    number = (states > 0).sum(-1).masked_fill(score == NONE, 0)
    return score, number, states.amax(-1) // (words * count), states // count % words
