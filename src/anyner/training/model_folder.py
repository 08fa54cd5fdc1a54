"""The output folder of a training: what it may overwrite, the best model so far, and the card at the end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from anyner.errors import AnynerError
from anyner.inference.recognizer import Recognizer
from anyner.inference.tuning import Tuned
from anyner.storage.card import card
from anyner.storage.files import CARD, CONFIG, EPOCHS, METRICS, RECIPE, WEIGHTS, write_text
from anyner.storage.load import read_config
from anyner.storage.save import save
from anyner.training.checkpoint import has_checkpoint
from anyner.training.config import Recipe
from anyner.training.data.splits import Splits
from anyner.training.loop import Outcome
from anyner.training.progress import draw_training
from anyner.view.training import PICTURE


def check_folder(folder: Path, resume: bool) -> None:
    """Refuses a folder that a training would overwrite, or that it cannot resume from."""
    if resume and not has_checkpoint(folder):
        if (folder / CONFIG).exists():
            raise AnynerError(f"{folder} holds a finished model: there is nothing to resume")
        raise AnynerError(f"{folder} holds no checkpoint to resume from: repeat the command that began the training")
    if not resume and has_checkpoint(folder):
        raise AnynerError(f"{folder} holds an unfinished training: resume it, or choose another output folder")
    if not resume and (folder / CONFIG).exists():
        raise AnynerError(f"{folder} already holds a model: choose another output folder")


def check_recipe(folder: Path, recipe: Recipe, resume: bool) -> None:
    """Refuses a folder with files of another training, or an unfinished training with another recipe."""
    if not resume:
        if foreign := _foreign(folder, recipe):
            raise AnynerError(f"{folder} holds {foreign}, which the training would overwrite: choose another output folder")
        return
    if (folder / RECIPE).is_file() and (before := Recipe.read(folder / RECIPE)) != recipe:
        keys = list(_changed_keys(before.model_dump(), recipe.model_dump()))
        have, values = ("has", "value") if len(keys) == 1 else ("have", "values")
        changed = f"{', '.join(keys)} {have} changed since the training began"
        raise AnynerError(f"{folder}: {changed}: resume with the old {values}, or start again")


def _changed_keys(before: Mapping[str, Any], now: Mapping[str, Any], group: str = "") -> Iterator[str]:
    """The dotted keys with other values."""
    for name in sorted({*before, *now}):
        old, new = before.get(name), now.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _changed_keys(old, new, f"{group}{name}.")
        elif old != new:
            yield f"{group}{name}"


def _foreign(folder: Path, recipe: Recipe) -> str | None:
    """A file that the training would overwrite and that was not left by a killed training."""
    if (folder / EPOCHS).exists():
        return None
    there = [name for name in (RECIPE, CARD, METRICS, WEIGHTS, PICTURE) if (folder / name).exists()]
    if there == [RECIPE] and (folder / RECIPE).read_bytes() == recipe.to_yaml().encode():
        return None  # the same file that this training would write
    return there[0] if there else None


def begin_folder(folder: Path, recipe: Recipe) -> None:
    if not (folder / EPOCHS).exists():
        write_text(folder / EPOCHS, "")  # before the recipe: this file marks the folder as a training's
    write_text(folder / RECIPE, recipe.to_yaml())


def read_metrics(folder: Path) -> dict[str, Any]:
    """Metrics of the best epoch so far; an error if its files are missing, as a checkpoint is useless without them."""
    try:
        metrics = json.loads((folder / METRICS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        metrics = None
    if not isinstance(metrics, dict) or "dev" not in metrics or not (folder / WEIGHTS).is_file():
        raise AnynerError(f"{folder}: {METRICS} or {WEIGHTS} of the best epoch is missing or damaged: start a new training")
    return metrics


class BestModel:
    """Writes the model whenever an epoch is the best so far, and the card when the training is over."""

    def __init__(self, recognizer: Recognizer, recipe: Recipe, folder: Path, data: Splits) -> None:
        self._recognizer, self._recipe, self._folder, self._data = recognizer, recipe, folder, data

    def keep(self, tuned: Tuned | None) -> None:
        """`tuned`: score and thresholds on dev; None for a refit."""
        config = self._recognizer.config
        if tuned is not None:
            config = config.updated({"thresholds": dict(tuned.thresholds)}, CONFIG)
        save(Recognizer(self._recognizer.runtime, self._recognizer.vocabulary, config), self._folder, overwrite=True)
        self._write({"dev": tuned.score.to_json() if tuned is not None else None, "documents": len(self._data.dev)})

    def finish(self, outcome: Outcome) -> None:
        metrics = {**read_metrics(self._folder), "training": asdict(outcome)}
        self._write(metrics)
        config = read_config(self._folder)  # with the thresholds of the best epoch
        draw_training(self._folder)
        write_text(self._folder / CARD, card(config, metrics, self._recipe.to_yaml(), len(self._data.train), PICTURE))

    def _write(self, metrics: dict[str, Any]) -> None:
        write_text(self._folder / METRICS, json.dumps(metrics, indent=2) + "\n")
