"""A model that is about to get stored weights draws no random ones first: that takes longer than reading the stored ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch.overrides import TorchFunctionMode

_FILLING = frozenset(
    {"normal_", "uniform_", "trunc_normal_", "kaiming_normal_", "kaiming_uniform_", "xavier_normal_", "xavier_uniform_"}
)
"""By name: they are methods of tensors, functions of torch.nn.init, and what transformers puts in place of these."""


class Unfilled(TorchFunctionMode):
    """Inside, tensors that would be filled with random numbers stay as they are: only for weights that are all replaced."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        if getattr(func, "__name__", "") in _FILLING:
            return args[0] if args else named["tensor"]
        return func(*args, **named)
