"""Experiment trackers in addition to `metrics.jsonl`: TensorBoard, MLflow and Weights & Biases, through accelerate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from accelerate import Accelerator

from anyner.errors import AnynerError
from anyner.training.config import Recipe, TrackerName
from anyner.training.progress import EpochRecord

PROJECT = "anyner"
"""Name of the project or experiment in the trackers."""


def check_installed(trackers: tuple[TrackerName, ...]) -> None:
    """Refuses trackers that are not installed; accelerate would silently skip them."""
    for name in trackers:
        if not find_spec(name):
            raise AnynerError(f"training.trackers: {name} is not installed: pip install {name}")


def start(accelerator: Accelerator, recipe: Recipe, folder: Path) -> None:
    """Opens a run with the keys of the recipe, named after the folder if the tracker names runs."""
    names = {"mlflow": {"run_name": folder.name}, "wandb": {"name": folder.name, "dir": str(folder)}}
    accelerator.init_trackers(PROJECT, config=dict(_flat(recipe.plain())), init_kwargs=names)


def log(accelerator: Accelerator, record: EpochRecord) -> None:
    scores = {"dev/precision": record.dev_precision, "dev/recall": record.dev_recall, "dev/f1": record.dev_f1}
    scores |= {"dev/discontinuous_f1": record.dev_discontinuous_f1, "sentences_per_second": record.sentences_per_second}
    losses = {f"loss/{name}": value for name, value in record.losses.items()}
    known = {name: value for name, value in scores.items() if value is not None}
    accelerator.log({"epoch": record.epoch, **losses, **known}, step=record.step)


def finish(accelerator: Accelerator) -> None:
    """Closes the trackers; accelerate's `end_training` would also destroy the process group."""
    for tracker in accelerator.trackers:
        tracker.finish()


def _flat(plain: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, str | int | float]]:
    """Dotted keys with plain values, as all trackers accept them."""
    for name, value in plain.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{group}{name}.")
        else:
            yield f"{group}{name}", value if isinstance(value, str | int | float) else str(value)
