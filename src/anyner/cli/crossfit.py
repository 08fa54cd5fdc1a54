"""`anyner crossfit`: opinions on training documents by models that did not learn from them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anyner.cli.folds import Changes, Fold, Quiet, listening
from anyner.cli.output import say, tell_nothing_learned


def crossfit(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="The recipe of the models whose opinions are wanted.")],
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Where opinions.jsonl goes.")],
    folds: Annotated[int, typer.Option(min=2, metavar="N", help="Parts of the training documents, and models.")] = 4,
    fold: Fold = None,
    changes: Changes = None,
    quiet: Quiet = False,
) -> None:
    """Write what models hold for entities of training documents that they did not learn from.

    The training documents are cut into folds, and each fold is read by a model that was trained on the others. What they say,
    with scores, is for data.opinions of a training: it learns from the gold and from them. Where there is room for several
    trainings, start one call for each --fold; a last call without it takes their models up.

    \b
    Examples:
      anyner crossfit plain.yaml -o runs/opinions
      anyner crossfit plain.yaml -o runs/opinions --fold 2
      anyner train recipe.yaml --set data.opinions=runs/opinions/opinions.jsonl -o runs/model
    """
    from anyner.training.config import Recipe
    from anyner.training.crossfit import crossfit as fit
    from anyner.training.crossfit import fit_fold

    ready = Recipe.read(recipe, changes or [])
    with listening(quiet) as listener:
        if fold is not None:
            say(f"{fit_fold(ready, output, folds, fold, listener)}: the model of fold {fold} is trained")
            return
        result = fit(ready, output, folds, listener)
    f1 = 100 * result.score.f1
    if not f1:
        tell_nothing_learned()
    say(f"{result.path}: {result.documents:,} documents with {result.entities:,} possible entities; F1 unseen {f1:.2f}")
