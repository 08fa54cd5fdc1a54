"""Running sums of an epoch's loss parts, and a watch for numbers that are not finite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(slots=True)
class LossSums:
    """Numerator and denominator of each part, over all processes; on the device until someone looks."""

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
    """Tells the first step whose numbers were not finite; they wait on the device until someone looks."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Tensor]] = []
        self._bad: int | None = None

    def add(self, step: int, number: Tensor) -> None:
        """A loss or a norm of the gradient."""
        self._waiting.append((step, number.detach()))

    def first_bad(self) -> int | None:
        if self._bad is None and self._waiting:
            finite = torch.stack([number.float() for _, number in self._waiting]).isfinite().tolist()
            self._bad = next((step for (step, _), fine in zip(self._waiting, finite, strict=True) if not fine), None)
        self._waiting.clear()
        return self._bad


def all_finite(weights: Sequence[Tensor]) -> bool:
    return bool(torch.stack([weight.detach().isfinite().all() for weight in weights]).all())
