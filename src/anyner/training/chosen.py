"""What a training found best on dev, or several on folds, for another that learns from dev as well."""

from __future__ import annotations

import json
from pathlib import Path

from anyner.errors import AnynerError
from anyner.storage.files import METRICS
from anyner.storage.load import read_config
from anyner.training.checkpoint import has_checkpoint
from anyner.training.config import Chosen, Recipe

CHOSEN = "chosen.json"
"""What `anyner choose` writes."""


def chosen_by(folder: Path) -> Chosen:
    """The best epoch and the thresholds of the model in a folder."""
    config = read_config(folder)
    if has_checkpoint(folder):
        raise AnynerError(f"{folder} holds an unfinished training: resume it first")
    try:
        metrics = json.loads((folder / METRICS).read_text(encoding="utf-8"))
        scored, epoch = metrics["dev"] is not None, metrics["training"]["best_epoch"] + 1
    except (OSError, ValueError, KeyError, TypeError):
        raise AnynerError(f"{folder}: does not say which epoch was best ({METRICS})") from None
    if not scored:
        raise AnynerError(f"{folder}: learned from dev itself, so that nothing was chosen on it")
    return Chosen.of({"epoch": epoch, "thresholds": dict(config.thresholds)}, str(folder / METRICS))


def with_dev(recipe: Recipe, folder: Path) -> Recipe:
    """A recipe with what was best for the model in a folder, or for the models of its folds: nothing is left to choose on dev."""
    architecture, chosen = best_in(folder)
    if architecture != recipe.architecture:
        raise AnynerError(f"{folder}: is of {architecture}, so that it tells nothing for {recipe.architecture}")
    return recipe.updated({"chosen": chosen.model_dump()}, "recipe")


def best_in(folder: Path) -> tuple[str, Chosen]:
    """An architecture and what was best for it: for the models of folds where `anyner choose` wrote, else for the model there."""
    if (folder / CHOSEN).is_file():
        return _by_folds(folder / CHOSEN)
    if any(folder.glob("fold-*-of-*")):
        raise AnynerError(f"{folder}: holds no {CHOSEN} yet: call anyner choose once more, without --fold")
    return read_config(folder).architecture, chosen_by(folder)


def _by_folds(path: Path) -> tuple[str, Chosen]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return str(told["architecture"]), Chosen.of({"epoch": told["epoch"], "thresholds": told["thresholds"]}, str(path))
    except (ValueError, KeyError, TypeError):
        raise AnynerError(f"{path}: is not what anyner choose writes") from None
