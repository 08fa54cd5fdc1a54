"""Memory that a training would take, told or refused before it is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch.overrides import TorchFunctionMode

from anyner.architectures.base import Head
from anyner.encoding.untrusted import numbers_made
from anyner.errors import AnynerError
from anyner.layers.boundary_pairs import BoundaryPairs
from anyner.training.batches import EpochPlans
from anyner.training.passages import Passages

_MOST_WEIGHTS = 4 * 10**9
_MANY_KINDS, _MUCH_MEMORY = 50, 2.0
"""From so many labels on a step's memory is estimated, and from so many GB on it is told."""
_TABLES = 9
"""Copies of the table of all spans and labels that a step holds at once, as measured."""


class limited_weights(TorchFunctionMode):  # noqa: N801 - used like a function, in `with`
    """Inside, absurd layers are refused before their memory is taken: a system promises more of it than it has."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key, self._left = key, _MOST_WEIGHTS

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        try:
            self._left -= numbers_made(func, args, named)
        except (RuntimeError, TypeError):  # more than a number of torch can say
            self._left = -1
        if self._left < 0:
            raise AnynerError(f"{self._key}: its settings make more than {_MOST_WEIGHTS:,} weights: choose smaller sizes")
        return func(*args, **named)


def memory_note(head: Head, passages: Passages, plans: EpochPlans) -> str | None:
    """Heads that score every span for every label make tables that grow with the labels and the square of the words."""
    kinds = max((len(layer.bilinear) for layer in head.modules() if isinstance(layer, BoundaryPairs)), default=0)
    if kinds < _MANY_KINDS:
        return None
    plan = plans.of(0)
    sizes = [passages.size(passage) for passage in plan.passages]
    spans = max(len(batch) * max(sizes[place] for place in batch) ** 2 for batch in plan.batches)
    gigabytes = _TABLES * 4 * kinds * spans / 1e9
    if gigabytes <= _MUCH_MEMORY:
        return None
    return (
        f"note: every span is scored for each of {len(head.labels):,} labels, which takes up to {gigabytes:.0f} GB a step: "
        "a smaller training.batch_tokens or text.window takes less"
    )
