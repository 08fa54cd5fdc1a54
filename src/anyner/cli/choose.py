"""`anyner choose`: the best epoch and thresholds by cross-validation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anyner.cli.folds import Changes, Fold, Quiet, listening
from anyner.cli.output import say, tell_nothing_learned


def choose(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="The recipe of the model that is wanted in the end.")],
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Where chosen.json and the folds' models go.")],
    folds: Annotated[int, typer.Option(min=2, metavar="N", help="Parts of the documents, and models.")] = 5,
    fold: Fold = None,
    changes: Changes = None,
    quiet: Quiet = False,
) -> None:
    """Find the best epoch and thresholds by cross-validation, for a training on all documents.

    The documents of train and dev are cut into folds, and each fold is read by a model that was trained on the others. What is
    chosen on all of them depends less on chance than what is chosen on a small dev. Then train --as DIR learns from all
    documents. Where there is room for several trainings, start one call for each --fold; a last call without it takes their
    models up.

    \b
    Examples:
      anyner choose recipe.yaml -o runs/folds
      anyner choose recipe.yaml -o runs/folds --fold 2
      anyner train --as runs/folds -o runs/model
    """
    from anyner.training.choosing import choose as by_folds
    from anyner.training.choosing import fit_fold
    from anyner.training.config import Recipe

    ready = Recipe.read(recipe, changes or [])
    with listening(quiet) as listener:
        if fold is not None:
            say(f"{fit_fold(ready, output, folds, fold, listener)}: the model of fold {fold} is trained")
            return
        result = by_folds(ready, output, folds, listener)
    thresholds = ", ".join(f"{name} {value:g}" for name, value in result.chosen.thresholds.items())
    gaps = f", of entities with gaps {100 * result.discontinuous.f1:.2f}" if result.discontinuous.gold else ""
    say(f"{result.path}: epoch {result.chosen.epoch}, {thresholds}; F1 unseen {100 * result.score.f1:.2f}{gaps}")
    if not result.score.correct:
        tell_nothing_learned()
