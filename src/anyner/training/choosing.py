"""The best epoch and thresholds by cross-validation: every document is dev once, for a model that did not learn from it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from anyner.errors import AnynerError
from anyner.evaluation.scores import Score
from anyner.inference.tuning import Tuner, tuned_on
from anyner.storage.files import CONFIG, RECIPE, write_text
from anyner.training.chosen import CHOSEN, chosen_by
from anyner.training.config import Chosen, Recipe
from anyner.training.crossfit import OPINIONS
from anyner.training.data import dev_passages, read_data
from anyner.training.folds import Folds, refuse_what_is_there
from anyner.training.progress import Listener, Silent


@dataclass(frozen=True, slots=True)
class ByFolds:
    """What was chosen, and how good it is on documents that the models did not learn from."""

    path: Path
    chosen: Chosen
    score: Score
    """Strict, all documents together, at the chosen thresholds, each model in its own best epoch: a little flattering."""
    discontinuous: Score
    """That of entities with gaps."""


def choose(recipe: Recipe, output: Path, folds: int = 5, listener: Listener | None = None) -> ByFolds:
    """Writes `chosen.json`, for a training that learns from train and dev (`train --as`), into a folder beside the folds' models.

    What was interrupted goes on with the same call.
    """
    listener = listener or Silent()
    dealt = _dealt(recipe, output, folds, listener)
    read, epochs = [], []
    for number in range(folds):
        part = dealt.documents(number)
        listener.note(f"fold {number + 1} of {folds}: {len(part):,} documents, read by a model of the other folds")
        read.append(Tuner(dealt.model(number, listener), dev_passages(part, recipe.training.passages)).read())
        epochs.append(chosen_by(dealt.folder(number)).epoch)
    tuned = tuned_on(read)
    chosen = Chosen.of({"epoch": round(mean(epochs)), "thresholds": dict(tuned.thresholds)}, "chosen")
    told = {
        "architecture": recipe.architecture,
        **chosen.model_dump(mode="json"),
        "epochs_of_folds": epochs,
        "score": tuned.score.to_json(),
        "discontinuous": tuned.discontinuous.to_json(),
    }
    write_text(output / RECIPE, recipe.to_yaml())
    write_text(output / CHOSEN, json.dumps(told, indent=2) + "\n")
    return ByFolds(output / CHOSEN, chosen, tuned.score, tuned.discontinuous)


def fit_fold(recipe: Recipe, output: Path, folds: int, fold: int, listener: Listener | None = None) -> Path:
    """Trains the model of one fold alone, the first being 1: folds can be trained side by side, for `choose` to take up."""
    listener = listener or Silent()
    return _dealt(recipe, output, folds, listener).fit(fold, listener)


def _dealt(recipe: Recipe, output: Path, folds: int, listener: Listener) -> Folds:
    """The documents of train and dev in folds, with what others hold of them."""
    if recipe.chosen is not None:
        raise AnynerError("the recipe has `chosen` already: there is nothing to choose")
    refuse_what_is_there(output, CHOSEN, OPINIONS, CONFIG, RECIPE)
    data = read_data(recipe.data.updated({"coordinated": 0.0}, "data"), recipe.text, dev_trains=True)
    return Folds.of(recipe, output, data, folds, listener)
