"""Weights averaged over the last steps: less noisy than those of any one step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

YOUNG = 10
"""In the first steps the average follows faster, for the weights that training began with say nothing."""


class Average:
    """An exponential average of a model's parameters, over about so many steps."""

    def __init__(self, model: nn.Module, steps: float) -> None:
        self.parameters = list(model.parameters())
        self.names = [name for name, _ in model.named_parameters()]
        self.weights = [parameter.detach().clone() for parameter in self.parameters]
        self.longest = 1 - 1 / max(steps, 1.0)

    def add(self, step: int) -> None:
        """Takes in the weights after `step` steps. Depends on the step alone: resuming is exact."""
        kept = min(self.longest, step / (step + YOUNG))
        average = get_ema_multi_avg_fn(kept)  # type: ignore[no-untyped-call]
        average(self.weights, [parameter.detach() for parameter in self.parameters], step)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The model has the average inside, and its own weights again behind."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        for parameter, weight in zip(self.parameters, self.weights, strict=True):
            own = parameter.clone()
            parameter.copy_(weight)
            weight.copy_(own)

    def state(self) -> dict[str, Tensor]:
        return dict(zip(self.names, self.weights, strict=True))

    def restore(self, state: Mapping[str, Tensor]) -> None:
        if set(state) != set(self.names):
            raise ValueError("its averaged weights belong to another model")
        for name, weight in zip(self.names, self.weights, strict=True):
            weight.copy_(state[name])
