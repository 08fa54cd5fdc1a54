"""The loss of a step over all processes, its means over an epoch, and a watch for numbers that are not finite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from accelerate import Accelerator
from torch import Tensor

from anyner.architectures.base import Losses
from anyner.errors import AnynerError


class DivergedError(AnynerError):
    """The loss, its gradient or a weight is no longer finite. What was saved before is still there."""


def total_loss(losses: Losses, counts: bool, accelerator: Accelerator) -> tuple[Tensor, Tensor]:
    """The weighted sum of the parts, each divided by its denominator over all processes; and the summed parts (P, 2).

    DDP averages gradients over the processes, so their number multiplies the loss. A share that does not count gives 0.
    """
    world, share = accelerator.num_processes, float(counts)
    parts = [torch.stack((p.numerator.detach().float(), p.denominator.detach().float())) for p in losses.values()]
    summed = torch.stack(parts)  # (P, 2)
    if world > 1:
        summed = accelerator.reduce(summed * share, "sum")
    total = torch.zeros((), device=accelerator.device)
    for part, denominator in zip(losses.values(), summed[:, 1], strict=True):
        total = total + part.weight * world * share * part.numerator / denominator.clamp_min(1e-12)
    return total, summed


@dataclass(slots=True)
class LossSums:
    """Numerators and denominators of the loss parts of an epoch; they stay on the device until they are read."""

    totals: dict[str, list[float]] = field(default_factory=dict)
    waiting: list[tuple[tuple[str, ...], Tensor]] = field(default_factory=list)

    def add(self, names: Iterable[str], parts: Tensor) -> None:
        """One batch's parts (P, 2), in the order of the names."""
        self.waiting.append((tuple(names), parts))

    def plain(self) -> dict[str, list[float]]:
        if self.waiting:
            numbers = iter(torch.cat([parts.double() for _, parts in self.waiting]).tolist())
            for name, (numerator, denominator) in zip((n for names, _ in self.waiting for n in names), numbers, strict=True):
                total = self.totals.setdefault(name, [0.0, 0.0])
                total[0] += numerator
                total[1] += denominator
            self.waiting.clear()
        return self.totals

    def means(self) -> dict[str, float]:
        return {name: numerator / max(denominator, 1e-12) for name, (numerator, denominator) in self.plain().items()}


class NumberWatch:
    """Finds the first step with a number that is not finite; numbers stay on the device until they are read."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Tensor]] = []
        self._bad: int | None = None

    def add(self, step: int, number: Tensor) -> None:
        """A loss or the norm of a gradient."""
        self._waiting.append((step, number.detach()))

    def first_bad(self) -> int | None:
        if self._bad is None and self._waiting:
            finite = torch.stack([number.float() for _, number in self._waiting]).isfinite().tolist()
            self._bad = next((step for (step, _), fine in zip(self._waiting, finite, strict=True) if not fine), None)
        self._waiting.clear()
        return self._bad


def all_finite(weights: Sequence[Tensor]) -> bool:
    return bool(torch.stack([weight.detach().isfinite().all() for weight in weights]).all())
