"""The best words of a block, found exactly. A block says for itself how well each word stands at each of its places, whatever
stands at the others; so of all rows of words that begin with its head and rise, the best need not be guessed.

What may follow a word depends only on that word and on the units written so far. The best of that are found from the last unit
to the first: either the block ends, or the next word follows, or - over a gap - a later one.

Of equally good rows the one of the nearest words comes first: rows are then in the order of their words, as tuples are, so that
(0, 1) is before (0, 1, 2), that before (0, 1, 3), and that before (0, 2). No penalty is needed for it: candidates are put side
by side in this order, and of equal ones the first is taken. Equal means that the sums of float32 are, added from the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from anyner.architectures.nag_ner.links import over_gaps

NONE = float("-inf")  # the log score of what is not there
LARGEST = 2**26  # numbers in one tensor


@dataclass(frozen=True, slots=True)
class Best:
    """The k best of each of Q blocks, best first."""

    score: Tensor  # (Q, k) -inf: there is none
    count: Tensor  # (Q, k) words of it, 0 where there is none
    words: Tensor  # (Q, k, W) their numbers counted from the head, rising, first 0; what is beyond `count` means nothing
    """W is the most words that can be."""

    def replaced(self, blocks: Tensor, several: Best) -> Best:
        """More of them for some blocks (N,); the others have no more than before."""
        more = several.score.shape[1] - self.score.shape[1]
        score = functional.pad(self.score, (0, more), value=NONE).index_copy(0, blocks, several.score)
        count = functional.pad(self.count, (0, more)).index_copy(0, blocks, several.count)
        return Best(score, count, functional.pad(self.words, (0, 0, 0, more)).index_copy(0, blocks, several.words))

    def beside(self, others: Best) -> Best:
        """The best of each block, and behind it those of others (Q, m) that are not the same."""
        last = self.words[:, 0].gather(1, (self.count[:, :1] - 1).clamp(min=0))  # (Q, 1)
        same = (others.count == self.count[:, :1]) & (last == self.count[:, :1] - 1)  # those of others have no gaps
        score = torch.cat([self.score[:, :1], others.score.masked_fill(same, NONE)], dim=1)
        count = torch.cat([self.count[:, :1], others.count.masked_fill(same, 0)], dim=1)
        return Best(score, count, torch.cat([self.words[:, :1], others.words], dim=1))


@dataclass(frozen=True, slots=True)
class _Ways:
    """Some ways to go on, best first: how good they are, and how they begin."""

    score: Tensor  # (..., n)
    begin: Tensor  # (..., n) 0: the block ends; else 1 + word * k + which of the ways on from that word

    def moved(self, words: int) -> _Ways:
        """For each word what is there for the word that many later."""
        beyond = (0, 0, 0, words)
        score = functional.pad(self.score, beyond, value=NONE)[:, words:]
        return _Ways(score, functional.pad(self.begin, beyond)[:, words:])

    def with_all_later(self) -> _Ways:
        """For each word the best of it and of all later ones: of 2, 4, 8 … words, each from two stretches half as long."""
        words, count = self.score.shape[1:]
        best, reach = self, 1
        while reach < words:
            best, reach = _best_of([best, best.moved(reach)], count), 2 * reach
        return best

    def linked(self, links: Tensor) -> _Ways:
        """For each word the best that follow it over a gap, with the links (Q, R, R) added."""
        words, count = self.score.shape[1:]
        score, begin = (part.flatten(1)[:, None].expand(-1, words, -1) for part in (self.score, self.begin))  # (Q, R, R k) each
        return _best_of([_Ways(score + links.repeat_interleave(count, dim=2), begin)], count)


def best_words(
    placed: Tensor, sizes: Tensor, end: Tensor, gap: Tensor | None, *, count: int, links: Tensor | None = None
) -> Best:
    """The `count` best rows of words of each block: the head, then later words in rising order, W = min(R, L) at most.

    `placed` (Q, R, L) is the log score of placing each word - 0 is the head - after 0 .. L-1 units, -inf where there is no such
    word or no room for it; `sizes` (Q, R) are the units of each word; `end` (Q, L + 1) is the log score of ending after that
    many units. `gap` (L,) is taken off for a jump over at least one word behind so many units; without it there are no jumps.
    `links` (Q, R, R) are added for a jump from a word to another.
    """
    units = placed.shape[2]
    if gap is None:  # what is farther than there are units cannot be reached
        placed, sizes = placed[:, :units], sizes[:, :units]
    links = links.detach() if links is not None and gap is not None else None
    most = max(units + 2, placed.shape[1] if links is not None else 0)
    at_once = max(1, LARGEST // (placed.shape[1] * most * count))
    split = (torch.split(part.detach(), at_once) for part in (placed.float(), sizes.long(), end.float()))
    blocks = list(zip(*split, strict=True))
    linked = torch.split(links, at_once) if links is not None else [None] * len(blocks)
    cost = gap.detach() if gap is not None else None
    parts = [_best_words(*block, gap=cost, links=own, count=count) for block, own in zip(blocks, linked, strict=True)]
    score, number, words = (torch.cat([getattr(part, name) for part in parts]) for name in ("score", "count", "words"))
    return Best(score, number, words)


def best_without_gaps(placed: Tensor, sizes: Tensor, end: Tensor, *, count: int) -> Best:
    """The same for rows without gaps alone: there is one of each number of words, so all are simply looked at."""
    units = placed.shape[2]
    words = min(placed.shape[1:])
    sizes = sizes[:, :words]
    behind = sizes.cumsum(1)  # (Q, W) units
    before = behind - sizes
    own = placed[:, :words].float().gather(2, before.clamp(max=units - 1)[..., None])[..., 0]  # (Q, W)
    own = own.masked_fill(before >= units, NONE)
    ended = end.float().gather(1, behind.clamp(max=units)).masked_fill(behind > units, NONE)  # (Q, W)
    score, order = (own.cumsum(1) + ended).detach().sort(dim=1, descending=True, stable=True)
    missing = max(0, count - words)
    score, order = (functional.pad(part, (0, missing), value=fill)[:, :count] for part, fill in ((score, NONE), (order, 0)))
    every = torch.arange(words, device=placed.device).expand(len(placed), count, -1)  # (Q, k, W)
    return Best(score, (order + 1).masked_fill(score == NONE, 0), every)


def best_for_each(
    placed: Tensor, sizes: Tensor, ends: Sequence[Tensor], gap: Tensor | None, links: Tensor | None = None
) -> list[Best]:
    """The best row of words of each block, for each of several log scores of ending."""
    many = len(ends)
    if links is not None:  # too many numbers to have them twice
        return [best_words(placed, sizes, end, gap, count=1, links=links) for end in ends]
    best = best_words(placed.repeat(many, 1, 1), sizes.repeat(many, 1), torch.cat(list(ends)), gap, count=1)
    parts = (part.chunk(many) for part in (best.score, best.count, best.words))
    return [Best(*own) for own in zip(*parts, strict=True)]


def _best_words(placed: Tensor, sizes: Tensor, end: Tensor, *, gap: Tensor | None, links: Tensor | None, count: int) -> Best:
    """The same for as many blocks as fit."""
    links = over_gaps(links, NONE) if links is not None else None
    ways = _best_way(placed, sizes, end, gap, links) if count == 1 else _best_ways(placed, sizes, end, gap, links, count=count)
    return _followed(placed[:, 0, 0], ways, sizes)


def _best_way(placed: Tensor, sizes: Tensor, end: Tensor, gap: Tensor | None, links: Tensor | None) -> _Ways:
    """The best way on behind so many units from each word: (Q, L + 2, R, 1).

    The last row is for words that do not fit, the first for what has ended. Words stand in reverse inside, so that a running
    maximum is that of all later words.
    """
    blocks, words, units = placed.shape
    from_end, size = placed.flip(1).permute(2, 0, 1).contiguous(), sizes.flip(1)  # (L, Q, R) and (Q, R)
    after = torch.arange(units, device=size.device)[:, None, None] + size
    after = after.clamp(max=units + 1)  # (L, Q, R) units after the word
    score = placed.new_full((units + 2, blocks, words), NONE)
    score[1:-1] = end[:, 1:].t()[..., None]
    choice = torch.zeros((units + 2, blocks, words), dtype=torch.int64, device=placed.device)  # 0: ends, 1: next, 2: over a gap
    far = torch.zeros((units + 2, blocks, words + 2), dtype=torch.int64, device=placed.device)
    backwards = links.flip(1, 2) if links is not None else None
    from_word = placed.new_full((blocks, words + 2), NONE)  # word r finds the one behind it at r + 1, all farther ones up to r
    for written in range(units - 1, 0, -1):
        torch.add(from_end[written], score.gather(0, after[written][None])[0], out=from_word[:, 2:])
        choices = [score[written], from_word[:, 1:-1]]
        if gap is not None and backwards is not None:
            jump, far[written, :, :-2] = _last_best(from_word[:, None, 2:] + backwards)  # (Q, R) each
            choices.append(jump - gap[written])
        elif gap is not None:  # of equal ones `cummax` takes the last: read backwards that is the nearest word
            jump, far[written] = from_word.cummax(1)
            choices.append(jump[:, :-2] - gap[written])
        score[written], choice[written] = torch.stack(choices).max(0)  # of equal ones the first
    word = torch.arange(words - 1, -1, -1, device=placed.device)
    chosen = torch.where(choice == 1, word + 1, words + 1 - far[..., :-2])  # (L + 2, Q, R)
    begin = torch.where(choice == 0, 0, 1 + chosen)
    return _Ways(*(part.flip(2).transpose(0, 1)[..., None] for part in (score, begin)))


def _last_best(score: Tensor) -> tuple[Tensor, Tensor]:
    """The best along the last dimension and its place, counted as in a row of two more before it; of equal ones the last."""
    best = score.amax(-1)
    place = torch.arange(2, score.shape[-1] + 2, device=score.device)
    return best, torch.where(score == best[..., None], place, 0).amax(-1)


def _best_ways(placed: Tensor, sizes: Tensor, end: Tensor, gap: Tensor | None, links: Tensor | None, *, count: int) -> _Ways:
    """The best ways on, several of each: (Q, L + 2, R, k)."""
    blocks, words, units = placed.shape
    shape = (blocks, units + 2, words, count)
    ways = _Ways(placed.new_full(shape, NONE), torch.zeros(shape, dtype=torch.int32, device=placed.device))
    ways.score[:, 1:-1, :, 0] = end[:, 1:, None]
    begin = torch.arange(1, words * count + 1, dtype=torch.int32, device=placed.device).view(words, count).expand(blocks, -1, -1)
    for written in range(units - 1, 0, -1):
        after = (written + sizes).clamp(max=units + 1)[:, None, :, None].expand(-1, -1, -1, count)  # (Q, 1, R, k)
        from_word = _Ways(placed[:, :, written, None] + ways.score.gather(1, after)[:, 0], begin)  # (Q, R, k)
        choices = [_Ways(ways.score[:, written, :, :1], ways.begin[:, written, :, :1]), from_word.moved(1)]
        if gap is not None:
            jump = from_word.moved(2).with_all_later() if links is None else from_word.linked(links)
            choices.append(_Ways(jump.score - gap[written], jump.begin))
        best = _best_of(choices, count)
        ways.score[:, written], ways.begin[:, written] = best.score, best.begin
    return ways


def _best_of(choices: list[_Ways], count: int) -> _Ways:
    """The best of all, of equal ones those that stand first."""
    score = torch.cat([choice.score for choice in choices], dim=-1)
    begin = torch.cat([choice.begin for choice in choices], dim=-1)
    score, order = score.sort(dim=-1, descending=True, stable=True)
    return _Ways(score[..., :count], begin.gather(-1, order[..., :count]))


def _followed(head: Tensor, ways: _Ways, sizes: Tensor) -> Best:
    """The rows of words themselves, from heads with the log scores (Q,) along the ways on (Q, L + 2, R, k).

    A state is the units written, the word and the rank in one number; 0, which nothing else needs, is the end of the row.
    """
    rows, words, count = ways.score.shape[1:]
    chosen = (ways.begin.long() - 1).clamp(min=0)  # (Q, L + 2, R, k)
    word, rank = chosen // count, chosen % count
    written = torch.arange(rows, device=head.device)[:, None, None] + sizes.gather(1, word.flatten(1)).view_as(word)
    state = (written.clamp(max=rows - 1) * words + word) * count + rank
    following = torch.where(ways.begin > 0, state, 0).flatten(1)  # (Q, (L + 2) R k)
    ranks = torch.arange(count, device=head.device)
    now = sizes[:, :1].clamp(max=rows - 1) * words * count + ranks  # (Q, k) the heads
    score = head[:, None] + ways.score.flatten(1).gather(1, now)  # (Q, k)
    row = [now]
    for _ in range(min(words, rows - 2) - 1):
        now = following.gather(1, now)
        row.append(now)
    states = torch.stack(row, dim=-1)  # (Q, k, W)
    number = (states > 0).sum(-1)
    return Best(score, number.masked_fill(score == NONE, 0), states // count % words)
