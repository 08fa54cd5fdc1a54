"""AdamW with one learning rate for what is pretrained and one for what is new, and the schedule of both."""

from __future__ import annotations

import torch
from torch import nn

from anyner.model import NerModel
from anyner.training.config import TrainingConfig


def build_optimizer(model: NerModel, config: TrainingConfig) -> torch.optim.AdamW:
    """Parameters grouped by their rate, each with and without weight decay (norms and biases have none)."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    pretrained = {id(parameter) for parameter in model.encoder.pretrained.parameters()}
    for name, parameter in model.named_parameters():
        rate = config.encoder_lr if id(parameter) in pretrained else config.head_lr
        if name.startswith("head."):
            rate *= model.head.rate_share(name.removeprefix("head."))
        decay = config.weight_decay if parameter.dim() > 1 else 0.0
        groups.setdefault((rate, decay), []).append(parameter)
    listed = [{"params": own, "lr": rate, "peak_lr": rate, "weight_decay": decay} for (rate, decay), own in groups.items()]
    return torch.optim.AdamW(listed, fused=next(model.parameters()).is_cuda)


def schedule(step: int, steps: int, warmup: float) -> float:
    """Share of the peak rate at a step: linear rise, then linear fall to 0. Depends on the step alone: resuming is exact."""
    rising = max(1, round(steps * warmup))
    if step < rising:
        return (step + 1) / rising
    return max(0.0, (steps - step) / max(1, steps - rising))


def set_rates(optimizer: torch.optim.Optimizer, share: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = group["peak_lr"] * share


def trainable_summary(model: nn.Module) -> str:
    """How much of the model learns, by its parts: a frozen encoder or an empty head shows here before any time is spent."""
    parts: dict[str, tuple[int, int]] = {}
    for name, parameter in model.named_parameters():
        part = ".".join(name.split(".")[:2]) if name.startswith("encoder") else name.split(".")[0]
        trained, total = parts.get(part, (0, 0))
        parts[part] = (trained + parameter.numel() * parameter.requires_grad, total + parameter.numel())
    return ", ".join(f"{part} {trained:,} of {total:,}" for part, (trained, total) in parts.items())
