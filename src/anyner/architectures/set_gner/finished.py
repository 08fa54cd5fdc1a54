"""What a search keeps: the best entities of each head so far, and the limits within which it looks for them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

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


class Finished:
    """The best entities of each head so far."""

    def __init__(self, heads: int, limits: Limits, longest: int, device: torch.device) -> None:
        shape = (heads, limits.places)
        self.limits, self.longest = limits, longest
        self._rank = torch.full(shape, NONE, device=device)
        self._log = torch.full(shape, NONE, device=device)
        self._symbol, self._size = (torch.zeros(shape, dtype=torch.long, device=device) for _ in range(2))
        self._units = torch.zeros(*shape, longest, dtype=torch.long, device=device)

    def add(self, heads: Tensor, log: Tensor, symbol: int, size: int | Tensor, units: Tensor) -> None:
        """Candidates of the heads (A,): log probabilities (A, P, X) of rows `units` (A, P, L) that end with the X symbols from
        `symbol` on; `size` is that of all rows, or of each of P.
        """
        places, (count, rows, symbols) = self.limits.places, log.shape
        sizes = torch.as_tensor(size, device=log.device).expand(count, rows)[..., None].expand_as(log)
        own = [
            (log / sizes**self.limits.length_power).masked_fill(log < self.limits.least, NONE),
            log,
            torch.arange(symbol, symbol + symbols, device=log.device).expand_as(log),
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
