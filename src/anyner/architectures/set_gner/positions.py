"""Where a row began and how far it is, as one vector: what makes the rows of a sentence differ (equation 13)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures.set_gner.config import Config
from anyner.layers.waves import waves


class Positions(nn.Module):
    """A learned table that starts as waves, so that near places look alike; every position of every window is in it."""

    def __init__(self, config: Config, width: int, rows: int | None) -> None:
        """`rows`: of a pretrained table, which cannot grow; None: as many as are needed."""
        super().__init__()
        assert config.most_units is not None and config.longest is not None, "the settings were not fitted to a corpus"
        self.kind, self.longest = config.positions, config.longest
        self.interval = config.interval
        if rows is not None:  # from what windows can hold and never from a batch: the same text must have the same positions
            self.interval = max(1, min(config.interval, (rows - config.longest) // config.most_units))
        needed = config.most_units * self.interval + config.longest
        self.table = nn.Parameter(waves(rows or needed, width))
        self.steps = nn.Parameter(waves(config.longest, width)) if config.positions == "factorised" else None

    def of_rows(self, first: Tensor, step: Tensor) -> Tensor:
        """Of the elements `step` (T,) of rows that began at unit `first` (N,): (N, T, w)."""
        if self.kind == "vanilla":
            return self._at(step)[None]
        if self.steps is not None:
            return self._at(first * self.interval)[:, None] + self.steps[step.clamp(max=self.longest - 1)]
        return self._at(first[:, None] * self.interval + step)

    def of_units(self, units: int) -> Tensor:
        """Of the units of a sentence: (U, w)."""
        return self._at(torch.arange(units, device=self.table.device) * self.interval)

    def _at(self, place: Tensor) -> Tensor:
        return functional.embedding(place.clamp(max=len(self.table) - 1), self.table)
