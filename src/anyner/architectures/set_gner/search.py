"""From head words to their entities, all heads at once: exact in one pass where entities have no gaps, else by beams.

Where a check says beforehand which heads may have entities with gaps, beams are for these alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from anyner.architectures.set_gner.generator import HIDDEN, Generator, Sentences
from anyner.architectures.set_gner.targets import unit_symbol
from anyner.layers.decoder import Rows

NONE = float("-inf")


@dataclass(frozen=True, slots=True)
class Grown:
    """The F best of each of H heads, best first."""

    units: Tensor  # (H, F, L) rising; what is beyond `size` means nothing
    size: Tensor  # (H, F)
    symbol: Tensor  # (H, F) a label, or from `labels` on "no entity" and "fragment"
    log_probability: Tensor  # (H, F) -inf: there is none


@dataclass(frozen=True, slots=True)
class Reach:
    """The last unit that entities of each of H heads may have, -1: there can be none."""

    whole: Tensor  # (H,) without gaps
    gaps: Tensor  # (H,) with gaps


@dataclass(frozen=True, slots=True)
class Limits:
    places: int
    """Entities to keep for a head."""
    longest: int
    least: float
    """What is less probable than this, as a logarithm, is given up: it only gets less probable."""
    length_power: float = 0.0
    null_counts: bool = False
    reach: Reach | None = None
    """What is known beforehand of entities' last units; None: nothing."""


def grown(generator: Generator, sentences: Sentences, rows: Rows, heads: Tensor, limits: Limits) -> Grown:
    """The entities of heads, units (H,) in their rows' sentences."""
    if not len(heads):
        empty = heads.new_zeros(0, limits.places)
        return Grown(heads.new_zeros(0, limits.places, 1), empty, empty, empty.float())
    limits = replace(limits, least=max(limits.least, HIDDEN / 2))  # what may not follow is improbable, but not impossible
    if generator.rules.contiguous:
        return _in_one_pass(generator, sentences, rows, heads, limits)
    if limits.reach is None:
        return _by_beams(generator, sentences, rows, heads, limits)
    return _by_reach(generator, sentences, rows, heads, limits)


def _by_reach(generator: Generator, sentences: Sentences, rows: Rows, heads: Tensor, limits: Limits) -> Grown:
    """Entities without gaps in one pass, and those with gaps by beams, where there may be any."""
    assert limits.reach is not None
    longest = min(limits.longest, sentences.units.shape[1])
    farthest = int((limits.reach.whole - heads).max()) + 1  # the host waits for the length of the pass
    most = max(1, min(farthest, longest, generator.rules.farthest))
    finished = _Finished(len(heads), limits, longest, heads.device)
    _add_runs(finished, generator, sentences, rows, heads, most=most)
    gapped = (limits.reach.gaps >= 0).nonzero()[:, 0]  # (G,)
    if len(gapped):
        of_these = replace(limits, reach=Reach(limits.reach.whole[gapped], limits.reach.gaps[gapped]), null_counts=False)
        found = _by_beams(generator, sentences, rows[gapped], heads[gapped], of_these)
        finished.add(gapped, found.log_probability[..., None], found.symbol[..., None], found.size, found.units)
    return finished.grown()


def _in_one_pass(generator: Generator, sentences: Sentences, rows: Rows, heads: Tensor, limits: Limits) -> Grown:
    longest = min(limits.longest, generator.rules.farthest, sentences.units.shape[1])
    finished = _Finished(len(heads), limits, longest, heads.device)
    _add_runs(finished, generator, sentences, rows, heads, most=longest)
    return finished.grown()


def _add_runs(finished: _Finished, generator: Generator, sentences: Sentences, rows: Rows, heads: Tensor, *, most: int) -> None:
    """A head has one row, all units behind it; each of its elements may be the last. So every entity of up to `most` units
    without a gap gets its score.
    """
    labels, units, limits = generator.rules.labels, sentences.units.shape[1], finished.limits
    number = torch.arange(finished.longest, device=heads.device)
    whole = (heads[:, None] + number).clamp(max=units - 1)  # (H, L)
    run, number = whole[:, :most], number[:most]  # (H, T), (T,)
    said = generator.log_probabilities(sentences, rows, generator.written(sentences, rows, run), heads, run)  # (H, T, X)
    following = 0 if generator.rules.contiguous else run[:, 1:]  # which of the units that may follow comes next
    symbol = (unit_symbol(labels) + torch.as_tensor(following, device=heads.device)).expand(len(heads), most - 1)
    going_on = said[:, :-1].gather(2, symbol[..., None])[..., 0]  # (H, T - 1)
    before = functional.pad(going_on.cumsum(1), (1, 0))  # (H, T) of having come so far
    last = heads[:, None] + number
    there = last < sentences.lengths[rows.sentence][:, None]
    if limits.reach is not None:
        there &= last <= limits.reach.whole[:, None]
    ends = (before[..., None] + said[..., :labels]).masked_fill(~there[..., None], NONE)  # (H, T, labels)
    everyone = torch.arange(len(heads), device=heads.device)
    if limits.null_counts:
        finished.add(everyone, said[:, :1, labels : unit_symbol(labels)], labels, 1, whole[:, None])
    finished.add(everyone, ends, 0, number + 1, whole[:, None].expand(-1, most, -1))


def _by_beams(generator: Generator, sentences: Sentences, rows: Rows, heads: Tensor, limits: Limits) -> Grown:
    """Unfinished rows are followed, `places` at each head; a label finishes one. Heads without any left drop out.

    With a reach only rows with gaps are finished, and none goes beyond it.
    """
    labels, places, device = generator.rules.labels, limits.places, heads.device
    units = sentences.units.shape[1]
    longest = min(limits.longest, units)
    finished = _Finished(len(heads), limits, longest, device)
    beam, unit = torch.arange(places, device=device), torch.arange(units, device=device)
    active = torch.arange(len(heads), device=device)  # (A,) heads that still have unfinished rows
    rows = rows.repeated(places)  # A * P from here on
    history = heads[:, None, None].expand(-1, places, longest).clone()  # (A, P, L)
    alive = torch.where(beam == 0, 0.0, NONE).expand(len(heads), -1)  # (A, P) log probabilities; at first all beams are alike
    cache = generator.decoder.cache(len(rows), longest, sentences.units)
    for step in range(longest):
        first, last = history[..., 0].flatten(), history[..., step].flatten()  # (A * P,) each
        states = generator.step(sentences, rows, first, last, number=step, cache=cache)[:, None]  # (A * P, 1, w)
        said = generator.log_probabilities(sentences, rows, states, first, last[:, None])[:, 0]  # (A * P, labels + 2 + U)
        total = alive[..., None] + said.view(*alive.shape, -1)  # (A, P, labels + 2 + U)
        if step == 0 and limits.null_counts:
            finished.add(active, total[:, :1, labels : unit_symbol(labels)], labels, 1, history)
        ends, going_on = total[..., :labels], total[..., unit_symbol(labels) :]  # (A, P, labels), (A, P, U)
        if limits.reach is not None:
            whole = history[..., step] - history[..., 0] == step  # (A, P)
            ends = ends.masked_fill(whole[..., None], NONE)
            going_on = going_on.masked_fill(unit > limits.reach.gaps[active][:, None, None], NONE)
        finished.add(active, ends, 0, step + 1, history)
        if step + 1 == longest:
            break
        alive, chosen = going_on.flatten(1).topk(places)  # (A, P) each
        alive = alive.masked_fill(finished.beyond_reach(active, alive), NONE)
        parent = chosen // units  # (A, P)
        history = history.gather(1, parent[..., None].expand_as(history))
        history[..., step + 1] = chosen % units
        left = (alive > NONE).any(1).nonzero()[:, 0]  # (A',) the one wait of a step
        if not len(left):
            break
        cache = cache.reordered((left[:, None] * places + parent[left]).flatten())
        rows = rows[(left[:, None] * places + beam).flatten()]
        active, alive, history = active[left], alive[left], history[left]
    return finished.grown()


class _Finished:
    """The best entities of each head so far."""

    def __init__(self, heads: int, limits: Limits, longest: int, device: torch.device) -> None:
        shape = (heads, limits.places)
        self.limits, self.longest = limits, longest
        self._rank = torch.full(shape, NONE, device=device)
        self._log = torch.full(shape, NONE, device=device)
        self._symbol, self._size = (torch.zeros(shape, dtype=torch.long, device=device) for _ in range(2))
        self._units = torch.zeros(*shape, longest, dtype=torch.long, device=device)

    def add(self, heads: Tensor, log: Tensor, symbol: int | Tensor, size: int | Tensor, units: Tensor) -> None:
        """Candidates of the heads (A,): log probabilities (A, P, X) of rows `units` (A, P, L) that end with symbols, those from
        `symbol` on or the ones given (A, P, X); `size` is that of all rows, of each of P, or of each head's (A, P).
        """
        places, (count, rows, symbols) = self.limits.places, log.shape
        sizes = torch.as_tensor(size, device=log.device).expand(count, rows)[..., None].expand_as(log)
        if isinstance(symbol, int):
            symbol = torch.arange(symbol, symbol + symbols, device=log.device)
        own = [
            (log / sizes**self.limits.length_power).masked_fill(log < self.limits.least, NONE),
            log,
            symbol.expand_as(log),
            sizes,
            torch.arange(places, places + rows, device=log.device)[:, None].expand_as(log),  # where its units stand below
        ]
        known = [self._rank, self._log, self._symbol, self._size]
        before = [kept[heads] for kept in known] + [torch.arange(places, device=log.device).expand(count, -1)]
        both = [torch.cat([old, new.flatten(1)], dim=1) for old, new in zip(before, own, strict=True)]
        rank, chosen = both[0].topk(places)  # (A, places) each
        self._rank[heads] = rank
        for kept, joined in zip(known[1:], both[1:4], strict=True):
            kept[heads] = joined.gather(1, chosen)
        source = both[4].gather(1, chosen)[..., None].expand(-1, -1, self.longest)
        self._units[heads] = torch.cat([self._units[heads], units], dim=1).gather(1, source)

    def beyond_reach(self, heads: Tensor, alive: Tensor) -> Tensor:
        """Which unfinished rows (A, P) can no longer become one of the best: what follows only makes them less probable."""
        at_best: Tensor = alive / self.longest**self.limits.length_power
        hopeless: Tensor = (alive < self.limits.least) | (at_best <= self._rank[heads, -1:])
        return hopeless

    def grown(self) -> Grown:
        return Grown(self._units, self._size, self._symbol, self._log.masked_fill(self._rank == NONE, NONE))
