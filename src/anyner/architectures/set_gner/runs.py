"""Entities in passes: the first finds all of them without gaps exactly, each further one those with one gap more."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from anyner.architectures.set_gner.finished import NONE, Finished
from anyner.architectures.set_gner.generator import Generator, Sentences
from anyner.architectures.set_gner.targets import unit_symbol
from anyner.layers.rows import Rows


@dataclass(frozen=True, slots=True)
class Runs:
    """P rows of each of H heads: elements that are given, and then all next units, any number of which may follow them."""

    heads: Tensor  # (H,) their numbers
    rows: Rows  # H * P
    units: Tensor  # (H, P, L) also beyond the end of the sentence
    given: Tensor  # (H, P) the place of the last one that is given
    before: Tensor  # (H, P) log probability of what is given, -inf: there is no such row

    @classmethod
    def of_heads(cls, rows: Rows, heads: Tensor, longest: int) -> Runs:
        """One row of each head, of which the head is given."""
        number = torch.arange(len(heads), device=heads.device)
        units = heads[:, None, None] + torch.arange(longest, device=heads.device)
        return cls(number, rows, units, torch.zeros_like(heads)[:, None], torch.zeros(len(heads), 1, device=heads.device))

    def of_some(self, chosen: Tensor) -> Runs:
        """Of some heads (G,), which have one row each."""
        return Runs(self.heads[chosen], self.rows[chosen], self.units[chosen], self.given[chosen], self.before[chosen])


def add_runs(
    finished: Finished,
    generator: Generator,
    sentences: Sentences,
    runs: Runs,
    *,
    most: int,
    reach: Tensor | None = None,
    nothing: bool = False,
) -> Tensor:
    """Gives a score to every entity that ends with one of the first `most` elements of a run, from the last given one to the
    head's reach (H,), and on request to "no entity" and "fragment". Returns the log probabilities of all units that may come next
    instead: (H, P, T, units).
    """
    labels, (count, places, _) = generator.rules.labels, runs.units.shape
    number = torch.arange(most, device=runs.units.device)
    real = runs.units.clamp(max=sentences.units.shape[1] - 1)  # (H, P, L)
    last, inside = runs.units[..., :most], real[..., :most].flatten(0, 1)  # (H, P, T), (H * P, T)
    states = generator.written(sentences, runs.rows, inside)
    said = generator.log_probabilities(sentences, runs.rows, states, inside[:, 0], inside)  # (H * P, T, X)
    said = said.view(count, places, most, -1)
    units = said[..., unit_symbol(labels) :]  # (H, P, T, U), in contiguous settings the next one alone
    next_one = inside[:, 1:, None].view(count, places, most - 1, 1)
    following = units[..., :-1, :].gather(3, torch.zeros_like(next_one) if generator.rules.contiguous else next_one)[..., 0]
    following = following.masked_fill(number[:-1] < runs.given[..., None], 0.0)  # (H, P, T - 1) what is given is counted already
    before = runs.before[..., None] + functional.pad(following.cumsum(2), (1, 0))  # (H, P, T) of having come so far
    length = sentences.lengths[runs.rows.sentence].view(count, places, 1)
    before = before.masked_fill((last >= length) | (number < runs.given[..., None]), NONE)
    ends = before if reach is None else before.masked_fill(last > reach[:, None, None], NONE)
    rows = real[:, :, None].expand(-1, -1, most, -1)  # (H, P, T, L)
    sizes = (number + 1).repeat(places)
    finished.add(runs.heads, (ends[..., None] + said[..., :labels]).flatten(1, 2), 0, sizes, rows.flatten(1, 2))
    if nothing:
        finished.add(runs.heads, said[:, 0, :1, labels : unit_symbol(labels)], labels, 1, real)
    return before[..., None] + units


def add_gaps(
    finished: Finished, generator: Generator, sentences: Sentences, runs: Runs, going_on: Tensor, *, reach: Tensor
) -> None:
    """From runs of heads, one row each, and the log probabilities of going on (H, 1, T, U): the likeliest ways over a gap become
    runs of their own, so on from these, within the head's reach (H,).
    """
    one_each = runs.rows  # of heads, where rows of the next runs are put side by side
    longest, unit = runs.units.shape[2], torch.arange(going_on.shape[3], device=reach.device)
    while True:
        most, units = going_on.shape[2:]
        last = runs.units[..., :most, None]  # (H, P, T, 1)
        jumps = (unit > last + 1) & (unit <= reach[:, None, None, None])  # (H, P, T, U)
        if most == longest:
            jumps[:, :, -1] = False  # there is no room for one more
        likely = going_on.masked_fill(~jumps, NONE).flatten(1)  # (H, P * T * U)
        before, chosen = likely.topk(min(finished.limits.places, likely.shape[1]))  # (H, P') each
        before = before.masked_fill(finished.beyond_reach(runs.heads, before), NONE)
        left = (before > NONE).any(1).nonzero()[:, 0]  # (H',) the host waits for how many
        if not len(left):
            return
        before, chosen, reach, one_each = before[left], chosen[left], reach[left], one_each[left]
        parent, place, landed = chosen // (most * units), chosen // units % most, chosen % units  # (H', P') each
        number = torch.arange(longest, device=reach.device) - place[..., None] - 1  # (H', P', L) from the landing on
        kept = runs.units[left].gather(1, parent[..., None].expand(-1, -1, longest))
        rows = one_each.packed().repeated(chosen.shape[1])  # few heads may have gaps: the grid of all would be mostly empty
        runs = Runs(runs.heads[left], rows, torch.where(number < 0, kept, landed[..., None] + number), place + 1, before)
        farthest = torch.where(before > NONE, runs.given + reach[:, None] - landed, 0)  # (H', P') the last place within reach
        going_on = add_runs(finished, generator, sentences, runs, most=min(int(farthest.max()) + 1, longest), reach=reach)
