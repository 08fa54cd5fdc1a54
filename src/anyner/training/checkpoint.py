"""Checkpoints: everything needed to resume bit for bit. Weights, their average, optimiser, place, best score. No pickle."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from anyner.encoding.examples import Example
from anyner.errors import AnynerError
from anyner.model import NerModel
from anyner.storage.files import DiskFullError, room_for
from anyner.training.regularize import WeightAverage

_NAME, NEW, _OLD = "checkpoint", "checkpoint.new", "checkpoint.old"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a training stands."""

    step: int
    """Optimiser steps taken."""
    epoch: int
    batch: int
    """Batches of this epoch already used."""
    best_f1: float
    best_epoch: int
    seconds: float
    """Time spent so far."""
    records: int
    """Lines of metrics.jsonl that belong to what is saved."""
    loss_sums: dict[str, list[float]]
    """Running sums of this epoch's loss parts."""
    learned_from: str
    """Hash of the labels, the examples and their soft labels: a training resumes only with the same ones."""


def hash_of(labels: Sequence[str], examples: Sequence[Example]) -> str:
    """The same for the same labels and examples, with the same soft labels."""
    digest = blake2b("\x1f".join(labels).encode(), digest_size=16)
    for example in examples:
        soft = example.soft_labels
        of_soft = () if soft is None else (soft.label, soft.first, soft.last, soft.thousandths)
        for array in (example.label, example.words, example.sizes, example.annotated, *of_soft):
            digest.update(array.tobytes())
        digest.update(bytes([soft is not None, soft is not None and soft.covers_discontinuous]))
        digest.update(example.window.content_key.to_bytes(8, "little"))
    return digest.hexdigest()


def write_checkpoint(
    folder: Path, model: NerModel, optimizer: torch.optim.Optimizer, place: Place, average: WeightAverage | None = None
) -> None:
    """Written beside the old one and swapped in: a kill at any moment, or a full disk, leaves a complete one."""
    new, current, old = folder / NEW, folder / _NAME, folder / _OLD
    shutil.rmtree(new, ignore_errors=True)
    try:
        with room_for(current):
            _fill(new, model, optimizer, place, average)
    except DiskFullError:
        shutil.rmtree(new, ignore_errors=True)  # a part of it is of no use, and takes the space that is missing
        raise
    if current.exists():  # if not, the old one is all there is until the new one is in place
        shutil.rmtree(old, ignore_errors=True)
        current.rename(old)
    new.rename(current)
    shutil.rmtree(old, ignore_errors=True)


def _fill(new: Path, model: NerModel, optimizer: torch.optim.Optimizer, place: Place, average: WeightAverage | None) -> None:
    new.mkdir(parents=True)
    save_file(_on_host(model.state_dict()), new / "model.safetensors")
    save_file(_flat(optimizer.state_dict()["state"]), new / "optimizer.safetensors")
    if average is not None:
        save_file(_on_host(average.state()), new / "average.safetensors")
    (new / "place.json").write_text(json.dumps(asdict(place)), encoding="utf-8")


def has_checkpoint(folder: Path) -> bool:
    return (folder / _NAME).is_dir() or (folder / _OLD).is_dir()


def restore_checkpoint(
    folder: Path, model: NerModel, optimizer: torch.optim.Optimizer, learned_from: str, average: WeightAverage | None = None
) -> Place:
    path = folder / _NAME if (folder / _NAME).is_dir() else folder / _OLD
    try:
        place = _read_place(path / "place.json")
        if place.learned_from != learned_from:
            raise ValueError("the training documents, their labels or their soft labels are not the same")
        model.load_state_dict(load_file(path / "model.safetensors"))
        whole = optimizer.state_dict()
        whole["state"] = _checked(_nested(load_file(path / "optimizer.safetensors")), optimizer)
        optimizer.load_state_dict(whole)
        if average is not None:
            average.restore(load_file(path / "average.safetensors"))
        return place
    except (SafetensorError, OSError, ValueError, RuntimeError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise AnynerError(f"{path}: cannot resume (have the data or the recipe changed?): {reason}") from None


def _read_place(path: Path) -> Place:
    try:
        place = TypeAdapter(Place).validate_json(path.read_bytes(), strict=True)
    except ValidationError as error:
        fault = error.errors()[0]
        raise ValueError(f"{path.name}: {'.'.join(map(str, fault['loc'])) or 'not valid JSON'}: {fault['msg']}") from None
    sums = place.loss_sums.values()
    numbers = (place.step, place.epoch, place.batch, place.records, place.seconds)
    if min(numbers) < 0 or not math.isfinite(sum(numbers) + place.best_f1) or any(len(pair) != 2 for pair in sums):
        raise ValueError(f"{path.name}: no place in a training")
    return place


def _checked(state: dict[int, dict[str, Tensor]], optimizer: torch.optim.Optimizer) -> dict[int, dict[str, Tensor]]:
    """The optimiser would accept any state, and fail at its first step."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for number, own in state.items():
        shape = parameters[number].shape if 0 <= number < len(parameters) else None
        if own.keys() != {"step", "exp_avg", "exp_avg_sq"} or any(own[name].shape != shape for name in ("exp_avg", "exp_avg_sq")):
            raise ValueError(f"the optimiser's state of weight {number} does not fit")
    return state


def remove_checkpoint(folder: Path) -> None:
    """Renames first, so that a kill leaves no half checkpoint to resume from."""
    for name in (_OLD, _NAME):
        shutil.rmtree(folder / NEW, ignore_errors=True)
        if (folder / name).exists():
            (folder / name).rename(folder / NEW)
    shutil.rmtree(folder / NEW, ignore_errors=True)


def _on_host(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: weight.detach().cpu().clone() for name, weight in weights.items()}


def _flat(state: dict[int, dict[str, Any]]) -> dict[str, Tensor]:
    return {
        f"{number}.{key}": torch.as_tensor(value).detach().cpu().clone()
        for number, one in state.items()
        for key, value in one.items()
    }


def _nested(flat: dict[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in flat.items():
        number, key = name.split(".", 1)
        state.setdefault(int(number), {})[key] = tensor
    return state
