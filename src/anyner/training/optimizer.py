"""AdamW with separate learning rates for pretrained and new weights, and their schedule."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from anyner.model import NerModel
from anyner.training.config import TrainingConfig

_WEIGHT_DECAY = 0.01
_WARMUP = 0.1
"""Share of the steps used for warm-up."""


def build_optimizer(model: NerModel, config: TrainingConfig) -> torch.optim.AdamW:
    pretrained = {id(parameter) for parameter in model.encoder.pretrained.parameters()}

    def rate(name: str, parameter: nn.Parameter) -> float:
        own = config.encoder_lr if id(parameter) in pretrained else config.head_lr
        return own * model.head.rate_share(name.removeprefix("head.")) if name.startswith("head.") else own

    return adamw((parameter, rate(name, parameter)) for name, parameter in model.named_parameters())


def adamw(rates: Iterable[tuple[nn.Parameter, float]]) -> torch.optim.AdamW:
    """AdamW with parameters grouped by learning rate and weight decay (norms and biases have none)."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for parameter, rate in rates:
        groups.setdefault((rate, _WEIGHT_DECAY if parameter.dim() > 1 else 0.0), []).append(parameter)
    listed = [{"params": own, "lr": rate, "peak_lr": rate, "weight_decay": decay} for (rate, decay), own in groups.items()]
    return torch.optim.AdamW(listed, fused=True)


def schedule(step: int, steps: int) -> float:
    """Share of the peak learning rate: linear warm-up, then linear decay to 0. Depends only on the step, so resuming is exact."""
    warmup = max(1, round(steps * _WARMUP))
    if step < warmup:
        return (step + 1) / warmup
    return max(0.0, (steps - step) / max(1, steps - warmup))


def set_rates(optimizer: torch.optim.Optimizer, share: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = group["peak_lr"] * share
