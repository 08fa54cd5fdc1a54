"""Regularisation of a training: word dropout, adversarial training (FGM) and averaged weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from anyner.architectures.draw import Draw
from anyner.encoding.examples import Example

_CASELESS = 0.2
"""Share of the windows whose casing is hidden."""
_RAMP = 10
"""The decay of the average is lower for about this many steps, as the initial weights carry no information."""


def with_word_dropout(examples: Sequence[Example], share: float, unknown: int, draw: Draw) -> list[Example]:
    """A share of the words becomes the unknown piece, so that the encoder must use the context."""
    keys = [example.window.content_key for example in examples]
    lengths = [len(example.window.words) for example in examples]
    dropped = draw.uniform("word dropout", keys, max(lengths)) < share  # (B, M)
    return [one.without(row[:length], unknown) for one, row, length in zip(examples, dropped, lengths, strict=True)]


def with_case_dropout(examples: Sequence[Example], draw: Draw) -> list[Example]:
    """Hides the casing of some windows: models must also read all-caps or lowercase text, which few corpora contain."""
    keys = [example.window.content_key for example in examples]
    drawn = draw.uniform("casing", keys, 1)[:, 0]  # (B,)
    return [
        replace(one, window=replace(one.window, caseless=True)) if chance < _CASELESS else one
        for one, chance in zip(examples, drawn, strict=True)
    ]


@contextmanager
def perturbed(table: Tensor, size: float) -> Iterator[None]:
    """FGM (Miyato, Dai and Goodfellow, ICLR 2017): inside, an embedding table (V, d) is shifted along its own gradient.

    The norm of the whole shift is `size` times the root mean square norm of a row. Afterwards the table is exactly as before.
    Without a gradient nothing is shifted.
    """
    before = table.detach().clone()  # subtracting the shift would not restore the last bit
    length = before.norm() * len(before) ** -0.5
    try:
        if table.grad is not None:
            with torch.no_grad():
                table += size * length * _direction(table.grad)
        yield
    finally:
        with torch.no_grad():
            table.copy_(before)


def _direction(gradient: Tensor) -> Tensor:
    """The gradient with norm 1, or 0 if it is 0. First scaled by its largest value: squares of tiny numbers would underflow."""
    tiny = torch.finfo(gradient.dtype).tiny
    scaled = gradient / gradient.abs().max().clamp_min(tiny)
    length: Tensor = scaled.norm()
    return scaled / length.clamp_min(tiny)


class WeightAverage:
    """An exponential moving average of a model's parameters, over about this many steps."""

    def __init__(self, model: nn.Module, steps: float) -> None:
        self.parameters = dict(model.named_parameters())
        self.weights = {name: parameter.detach().clone() for name, parameter in self.parameters.items()}
        self.decay = 1 - 1 / max(steps, 1.0)
        self._detached = [parameter.detach() for parameter in self.parameters.values()]

    def add(self, step: int) -> None:
        """Updates the average after `step` steps. The decay depends only on the step, so resuming is exact."""
        decay = min(self.decay, step / (step + _RAMP))
        average = get_ema_multi_avg_fn(decay)  # type: ignore[no-untyped-call]
        average(list(self.weights.values()), self._detached, step)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Inside, the model has the averaged weights."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        for name, parameter in self.parameters.items():
            own = parameter.clone()
            parameter.copy_(self.weights[name])
            self.weights[name].copy_(own)

    def restore(self, weights: Mapping[str, Tensor]) -> None:
        if weights.keys() != self.weights.keys():
            raise ValueError("its averaged weights belong to another model")
        for name, weight in weights.items():
            self.weights[name].copy_(weight)
