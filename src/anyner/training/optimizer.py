"""AdamW with one learning rate for what is pretrained and one for what is new, and the schedule of both."""

from __future__ import annotations

import torch
from torch import nn

from anyner.model import NerModel
from anyner.training.config import TrainingConfig


def build_optimizer(model: NerModel, config: TrainingConfig) -> torch.optim.AdamW:
    """Four groups: pretrained and new, each with and without weight decay (norms and biases have none)."""
    groups = []
    pretrained = {id(parameter) for parameter in model.encoder.pretrained.parameters()}
    for rate, ours in ((config.encoder_lr, True), (config.head_lr, False)):
        chosen = [p for p in model.parameters() if (id(p) in pretrained) == ours]
        for decay, many in ((config.weight_decay, True), (0.0, False)):
            parameters = [p for p in chosen if (p.dim() > 1) == many]
            if parameters:
                groups.append({"params": parameters, "lr": rate, "peak_lr": rate, "weight_decay": decay})
    fused = next(model.parameters()).is_cuda
    return torch.optim.AdamW(groups, fused=fused)


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
