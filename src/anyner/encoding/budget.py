"""Limits on what torch may create while a model of unknown origin is built, and on the weights that it may have."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from anyner.encoding.stored import Shape
from anyner.errors import AnynerError

_MAKING = frozenset({"empty", "zeros", "ones", "full", "arange", "rand", "randn", "eye", "linspace", "empty_strided"})
_SPARE_NUMBERS, _SPARE_TENSORS, _SPARE_ROWS = 64_000_000, 2_000, 65_536
_TIMES_NUMBERS, _TIMES_TENSORS = 4, 8
"""A model creates more than it stores: the decoder of BART and T5, poolers, tables that are tied afterwards."""


def numbers_made(func: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]) -> int:
    """Elements of the tensor that a call of torch is about to create; 0: none."""
    if getattr(func, "__name__", "") not in _MAKING or named.get("out") is not None:
        return 0
    return int(func(*args, **{**named, "device": torch.device("meta")}).numel())


class Budget(TorchFunctionMode):
    """A context in which torch may not create more than the stored weights explain; refuses before memory is allocated."""

    def __init__(self, numbers: int, tensors: int, longest: int) -> None:
        """How many numbers the weights file holds, in how many tensors, and the longest side of any of them."""
        super().__init__()
        self._longest = max(longest, _SPARE_ROWS)
        self._stored = numbers
        self._numbers = _TIMES_NUMBERS * numbers + _SPARE_NUMBERS
        self._tensors = _TIMES_TENSORS * tensors + _SPARE_TENSORS

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        if new := numbers_made(func, args, named):
            self._tensors -= 1
            self._numbers -= new
            too_long = func is torch.arange and new > self._longest  # tables of positions are computed from one
            if too_long or min(self._numbers, self._tensors) < 0:
                raise AnynerError(f"config.json asks for a far larger model than the {self._stored:,} weights that are stored")
        return func(*args, **named)


def budget_of(shapes: Collection[Shape]) -> Budget:
    """The memory budget of a model with these stored tensors."""
    return Budget(sum(map(math.prod, shapes)), len(shapes), max((side for shape in shapes for side in shape), default=0))


def not_finite(weights: Mapping[str, Tensor]) -> str | None:
    """The name of the first tensor that holds an infinity or a NaN."""
    for name, weight in weights.items():
        if weight.is_floating_point() and weight.numel() and not torch.stack(torch.aminmax(weight)).isfinite().all():
            return name
    return None
