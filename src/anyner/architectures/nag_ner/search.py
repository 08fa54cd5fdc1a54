"""Exact search over word sequences: the most probable ones of a block, and the log-partition over all of them.

A block scores each word at each of its positions, independently of the others. A sequence starts with the block's word and
continues with later ones, so what may follow a word depends only on that word and on the number of units so far. One recursion,
from the last unit to the first, sums over all continuations or finds the best one: the sequence ends, or the next word follows,
or, across a gap, a later one. The search then runs forward, word by word, and keeps the prefixes with the best continuations: a
tree-trellis search (Soong and Huang, ICASSP 1991). A contiguous sequence is determined by its number of words, and cumulative
sums give the scores of all of them at once.

Ties are broken in lexicographic order, so the nearest words come first: (0, 1), (0, 1, 2), (0, 1, 3), (0, 2). Prefixes are kept
in this order, and sorting is stable. Scores are tied if their float32 sums are equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from anyner.architectures.nag_ner.config import END, FINITE_NONE, FIRST_UNIT, IMPOSSIBLE, MORE
from anyner.architectures.nag_ner.network import Blocks, Sentences

NONE = float("-inf")
"""Log score of the impossible."""
LARGEST = 2**26  # most elements of one tensor


@dataclass(frozen=True, slots=True)
class WordScores:
    """The output scores of Q blocks by words: log scores, -inf if impossible."""

    placed: Tensor  # (Q, R, L) of each of R words, 0 being the block's, after 0, 1 … units
    sizes: Tensor  # (Q, R) number of units of each word
    end: Tensor  # (Q, L + 1) of ending after 0, 1 … units
    more: Tensor  # (Q, L + 1) of not ending: only after a full block
    largest: int
    """Maximum units of a word."""


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
    """Log-partition over all sequences of each block, with gradients: (Q,). Arguments as in `WordScores`, `best_sequences`."""
    placed, end = placed.float().clamp(min=FINITE_NONE), end.float().clamp(min=FINITE_NONE)
    if gap_cost is None:
        return _contiguous(placed, sizes, end, FINITE_NONE)[0].logsumexp(1)
    return _continuations(placed, sizes, end, gap_cost, largest=largest, best=False)[0][:, -1]


def _continuations(placed: Tensor, sizes: Tensor, end: Tensor, gap_cost: Tensor, *, largest: int, best: bool) -> list[Tensor]:
    """Log scores of each word, the last one first, with its best continuation, or the sum over all: (Q, R) for each number of
    units before the word."""
    placed, sizes = placed.flip(1), sizes.flip(1)
    words, units = placed.shape[1:]
    after = {units: end[:, units, None].expand(-1, words)}  # (Q, R) over continuations of a word, by units so far
    none = NONE if best else FINITE_NONE
    nothing = torch.full_like(after[units], none)
    edge = placed.new_full((len(placed), 2), none)
    continuations = []
    for written in range(units - 1, -1, -1):
        following = after.get(written + 1, nothing)  # after the units of the word itself
        for size in range(2, largest + 1):
            following = torch.where(sizes == size, after.get(written + size, nothing), following)
        continuations.append(placed[:, :, written] + following)
        if written:
            from_word = torch.cat([edge, continuations[-1]], dim=1)  # (Q, 2 + R)
            later = from_word.cummax(1).values if best else from_word.logcumsumexp(1)
            over_gap = later[:, :-2] - gap_cost[written]
            ways = torch.stack([end[:, written, None].expand(-1, words), from_word[:, 1:-1], over_gap])  # next of r at r + 1
            after[written] = ways.amax(0) if best else ways.logsumexp(0)
    return continuations[::-1]


@dataclass(frozen=True, slots=True)
class Best:
    """The k best sequences of each of Q blocks, best first."""

    score: Tensor  # (Q, k) -inf: no sequence
    count: Tensor  # (Q, k) number of words, 0: no sequence
    units: Tensor  # (Q, k) their number of units
    words: Tensor  # (Q, k, W) relative to the block's word, ascending from 0; arbitrary beyond `count`


def best_sequences(placed: Tensor, sizes: Tensor, end: Tensor, gap_cost: Tensor | None, *, count: int, largest: int) -> Best:
    """The `count` best sequences of each block, W = min(R, L) words at most; tensors and `largest` as in `WordScores`.

    `gap_cost` (L,) is subtracted for skipping words after 0, 1 … units; None: no word is skipped.
    """
    placed, sizes, end = placed.detach().float(), sizes.long(), end.detach().float()
    if gap_cost is None:
        return _best_contiguous(placed, sizes, end, count)
    at_once = max(1, LARGEST // (placed.shape[1] * max(placed.shape[2], count)))
    parts = []
    for own, size, last in zip(*(torch.split(part, at_once) for part in (placed, sizes, end)), strict=True):
        continuations = _continuations(own, size, last, gap_cost.detach(), largest=largest, best=True)
        by_units = torch.stack(continuations, dim=1).flip(2)  # (Q, L, R) the first word first
        parts.append(_forwards(own, size, last, gap_cost.detach(), by_units, count=count))
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


def _forwards(
    placed: Tensor, sizes: Tensor, end: Tensor, gap_cost: Tensor, continuations: Tensor, *, count: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Scores, counts, units and words of the best sequences; `continuations` (Q, L, R) by the units before a word."""
    blocks, words, longest = placed.shape
    word, end = torch.arange(words, device=placed.device), functional.pad(end, (0, 1), value=NONE)  # -inf: too long
    ended = (torch.arange(count, device=placed.device) > 0).expand(blocks, -1)  # (Q, k), as all below; at first one prefix
    score = placed[:, :1, 0].masked_fill(ended, NONE)
    written, number = sizes[:, :1].clamp(max=longest + 1).expand(-1, count), (~ended).long()
    path = torch.zeros(blocks, count, 1, dtype=torch.long, device=placed.device)
    for _ in range(min(words, longest) - 1):
        place, before = written.clamp(max=longest - 1), path[..., -1:]  # (Q, k), (Q, k, 1) the last word
        jump = gap_cost[place]
        continuing = score[..., None] + continuations.gather(1, place[..., None].expand(-1, -1, words))  # (Q, k, R)
        continuing = torch.where(word > before + 1, continuing - jump[..., None], continuing)
        continuing = continuing.masked_fill((word <= before) | (ended | (written >= longest))[..., None], NONE)
        ending = torch.where(ended, score, score + end.gather(1, written))
        choices = torch.cat([ending[..., None], continuing], dim=-1).flatten(1)  # (Q, k (1 + R)) in lexicographic order
        chosen = choices.sort(dim=1, descending=True, stable=True).indices[:, :count].sort(dim=1).values
        best, which, following = choices.gather(1, chosen), chosen // (words + 1), chosen % (words + 1) - 1
        ended = (following < 0) | (best == NONE)
        written, score, jump, last = (part.gather(1, which) for part in (written, score, jump, before[..., 0]))
        following = torch.where(ended, last, following)
        own = placed.flatten(1).gather(1, following * longest + written.clamp(max=longest - 1))
        score = torch.where(ended, best, score + own - torch.where(following > last + 1, jump, 0.0))
        written = torch.where(ended, written, (written + sizes.gather(1, following)).clamp(max=longest + 1))
        number = number.gather(1, which) + ~ended
        path = torch.cat([path.gather(1, which[..., None].expand_as(path)), following[..., None]], dim=-1)
        if bool(ended.all()):  # the host waits, but most sequences are short
            break
    score = torch.where(ended, score, score + end.gather(1, written))
    score, order = score.sort(dim=1, descending=True, stable=True)
    path = functional.pad(path, (0, min(words, longest) - path.shape[2]))  # (Q, k, W)
    number, written = (part.gather(1, order) for part in (number, written))
    return score, number.masked_fill(score == NONE, 0), written, path.gather(1, order[..., None].expand_as(path))
