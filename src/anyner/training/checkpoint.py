"""Checkpoints: everything needed to resume bit for bit, in one file without pickle: weights, their average, optimiser, place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, Field
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from anyner.encoding.examples import Example
from anyner.errors import AnynerError
from anyner.storage.files import write_whole
from anyner.training.regularize import WeightAverage

CHECKPOINT = "checkpoint.safetensors"
CHECKPOINT_SECONDS = 300
"""Seconds between two checkpoints."""


class Place(BaseModel):
    """The point that a training has reached."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    learned_from: str
    """Hash of the labels, the examples and their soft labels: a training resumes only with the same ones."""
    step: int = Field(default=0, ge=0)
    """Optimiser steps taken."""
    epoch: int = Field(default=0, ge=0)
    batch: int = Field(default=0, ge=0)
    """Batches of this epoch already used."""
    best_f1: float = -1.0
    best_epoch: int = -1
    seconds: float = Field(default=0.0, ge=0)
    """Training time so far."""
    records: int = Field(default=0, ge=0)
    """Number of lines of metrics.jsonl when the checkpoint was written."""
    loss_sums: dict[str, tuple[float, float]] = Field(default_factory=dict)
    """Running sums of this epoch's loss parts."""


def hash_of(labels: Sequence[str], examples: Sequence[Example]) -> str:
    """A hash of the labels and of the examples with their soft labels."""
    digest = blake2b("\x1f".join(labels).encode(), digest_size=16)
    for example in examples:
        soft = example.soft_labels
        for held in (example.entities, soft.entities) if soft is not None else (example.entities,):
            for array in (held.label, held.words, held.sizes, held.thousandths):
                digest.update(array.tobytes())
        digest.update(example.annotated.tobytes())
        digest.update(bytes([soft is not None, soft is not None and soft.covers_discontinuous]))
        digest.update(example.window.content_key.to_bytes(8, "little"))
    return digest.hexdigest()


def has_checkpoint(folder: Path) -> bool:
    return (folder / CHECKPOINT).is_file()


def write_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, place: Place, average: WeightAverage | None = None
) -> None:
    """Replaces the previous checkpoint atomically: a kill at any moment or a full disk leaves a complete one."""
    moments = optimizer.state_dict()["state"]
    groups: dict[str, Mapping[str, Tensor]] = {
        "model": model.state_dict(),
        "optimizer": {f"{number}.{key}": one for number, own in moments.items() for key, one in own.items()},
        "average": average.weights if average is not None else {},
    }
    tensors = {f"{group}.{name}": one.detach().cpu().clone() for group, own in groups.items() for name, one in own.items()}
    metadata = {"place": place.model_dump_json()}
    write_whole(folder / CHECKPOINT, lambda temporary: save_file(tensors, temporary, metadata=metadata))


def restore_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, learned_from: str, average: WeightAverage | None = None
) -> Place:
    path = folder / CHECKPOINT
    try:
        with safe_open(path, "pt") as file:
            place = Place.model_validate_json((file.metadata() or {}).get("place", ""), strict=True)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        if place.learned_from != learned_from:
            raise ValueError("the training documents, their labels or their soft labels are not the same")
        model.load_state_dict(_group(tensors, "model"))
        optimizer.load_state_dict({**optimizer.state_dict(), "state": _moments(_group(tensors, "optimizer"), optimizer)})
        if average is not None:
            average.restore(_group(tensors, "average"))
        return place
    except (SafetensorError, OSError, ValueError, RuntimeError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise AnynerError(f"{path}: cannot resume (have the data or the recipe changed?): {reason}") from None


def _group(tensors: Mapping[str, Tensor], group: str) -> dict[str, Tensor]:
    return {name.removeprefix(f"{group}."): tensor for name, tensor in tensors.items() if name.startswith(f"{group}.")}


def _moments(flat: Mapping[str, Tensor], optimizer: torch.optim.Optimizer) -> dict[int, dict[str, Tensor]]:
    """Optimiser state by parameter; checked, because the optimiser would accept any state and fail at its first step."""
    state: dict[int, dict[str, Tensor]] = defaultdict(dict)
    for name, tensor in flat.items():
        place, _, key = name.partition(".")
        state[int(place)][key] = tensor
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for number, own in state.items():
        shape = parameters[number].shape if 0 <= number < len(parameters) else None
        if own.keys() != {"step", "exp_avg", "exp_avg_sq"} or own["exp_avg"].shape != shape or own["exp_avg_sq"].shape != shape:
            raise ValueError(f"the optimiser's state of weight {number} does not fit")
    return state


def remove_checkpoint(folder: Path) -> None:
    (folder / CHECKPOINT).unlink(missing_ok=True)
