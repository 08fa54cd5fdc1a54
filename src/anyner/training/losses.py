"""The loss of a step over all processes, its mean over an epoch, and detection of values that are not finite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from accelerate import Accelerator
from torch import Tensor

from anyner.architectures.base import Losses
from anyner.errors import AnynerError


class DivergedError(AnynerError):
    """The loss, its gradient or a weight is no longer finite. Everything saved before is kept."""


def total_loss(losses: Losses, counts: bool, accelerator: Accelerator) -> tuple[Tensor, Tensor]:
    """The weighted sum of the parts, each divided by its denominator over all processes; and the summed parts (P, 2).

    DDP averages gradients over the processes, so their number multiplies the loss. Without `counts` the loss is 0.
    """
    world, share = accelerator.num_processes, float(counts)
    numerators = torch.stack([part.numerator.float() for part in losses.values()])  # (P,)
    denominators = torch.stack([part.denominator.float() for part in losses.values()])  # (P,)
    summed = torch.stack((numerators, denominators), dim=1).detach()  # (P, 2)
    if world > 1:
        summed = accelerator.reduce(summed * share, "sum")
    means = numerators * (world * share) / summed[:, 1].clamp_min(1e-12)  # (P,)
    total = torch.stack([part.weight * mean for part, mean in zip(losses.values(), means.unbind(), strict=True)]).sum()
    return total, summed


class LossSums:
    """Numerators and denominators of the loss parts of an epoch; they stay on the device until they are read."""

    def __init__(self, before: Mapping[str, tuple[float, float]] | None = None) -> None:
        self._before = dict(before or {})
        self._sums: dict[tuple[str, ...], Tensor] = {}
        """(P, 2) for each set of part names: a head may alternate its objectives between steps."""

    def add(self, names: Iterable[str], parts: Tensor) -> None:
        """One batch's parts (P, 2), in the order of the names."""
        key = tuple(names)
        known = self._sums.get(key)
        self._sums[key] = parts.double() if known is None else known + parts

    def plain(self) -> dict[str, tuple[float, float]]:
        totals = dict(self._before)
        for names, parts in self._sums.items():
            for name, (numerator, denominator) in zip(names, parts.tolist(), strict=True):
                before = totals.get(name, (0.0, 0.0))
                totals[name] = (before[0] + numerator, before[1] + denominator)
        return totals

    def means(self) -> dict[str, float]:
        return {name: numerator / max(denominator, 1e-12) for name, (numerator, denominator) in self.plain().items()}


class NumberWatch:
    """Finds the first step with a value that is not finite; the result stays on the device until it is read."""

    def __init__(self, device: torch.device) -> None:
        self._bad = torch.zeros((), dtype=torch.int64, device=device)  # 0: none

    def add(self, step: int, number: Tensor) -> None:
        """A loss or the norm of a gradient."""
        self._bad = torch.where((self._bad == 0) & ~number.detach().isfinite(), step, self._bad)

    def first_bad(self) -> int | None:
        return int(self._bad) or None
