"""Memory that a training would need, checked before it is allocated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch.overrides import TorchFunctionMode

from anyner.architectures.base import Head
from anyner.encoding.untrusted import numbers_made
from anyner.errors import AnynerError
from anyner.layers.span_classifier import SpanScores
from anyner.training.data.batches import EpochPlans
from anyner.training.data.passages import Passages

_MOST_WEIGHTS = 4 * 10**9
_MANY_KINDS, _MUCH_MEMORY = 50, 2.0
"""The memory of a step is estimated from so many labels on, and reported from so many GB on."""
_TABLES = 9
"""Copies of the table of all spans and labels that a step holds at once (measured)."""


class limited_weights(TorchFunctionMode):  # noqa: N801 - used like a function, in `with`
    """Inside, oversized layers are refused before they are allocated: systems promise more memory than they have."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key, self._left = key, _MOST_WEIGHTS

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        try:
            self._left -= numbers_made(func, args, named)
        except (RuntimeError, TypeError):  # overflows a torch integer
            self._left = -1
        if self._left < 0:
            raise AnynerError(f"{self._key}: its settings make more than {_MOST_WEIGHTS:,} weights: use smaller sizes")
        return func(*args, **named)


def memory_note(head: Head, passages: Passages, plans: EpochPlans) -> str | None:
    """Heads that score every span for every label need tables that grow with the labels and the square of the words."""
    kinds = max((len(layer.bilinear) for layer in head.modules() if isinstance(layer, SpanScores)), default=0)
    if kinds < _MANY_KINDS:
        return None
    plan = plans.of(0)
    sizes = [passages.size(passage) for passage in plan.passages]
    spans = max(len(batch) * max(sizes[place] for place in batch) ** 2 for batch in plan.batches)
    gigabytes = _TABLES * 4 * kinds * spans / 1e9
    if gigabytes <= _MUCH_MEMORY:
        return None
    return (
        f"note: every span is scored for each of {len(head.labels):,} labels: a step needs up to {gigabytes:.0f} GB; "
        "a smaller training.batch_tokens or text.window needs less"
    )
