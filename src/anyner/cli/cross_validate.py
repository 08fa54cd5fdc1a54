"""`anyner cross-validate`: soft labels, and the best epoch and thresholds, from models trained on folds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anyner.cli.choices import ChangesOption, QuietOption, listening
from anyner.cli.output import say, warn_nothing_learned


def cross_validate(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="The recipe to cross-validate.")],
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Output folder.")],
    folds: Annotated[int, typer.Option(min=2, metavar="N", help="Number of folds.")] = 5,
    fold: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="Train only fold K, so that folds can train in parallel.")
    ] = None,
    changes: ChangesOption = None,
    quiet: QuietOption = False,
) -> None:
    """Train K folds; write out-of-fold predictions (soft labels) and the best epoch and thresholds.

    Splits the documents of train and dev into folds. Each fold is predicted by a model trained on the others. Writes to
    DIR: soft_labels.jsonl, for data.soft_labels of any recipe, and refit.json, for anyner train --refit-from DIR, which
    trains on train and dev together. Folds share the available GPUs. To use several machines, run the command once for
    each --fold, then once without it. Repeat an interrupted command to continue.

    \b
    Examples:
      anyner cross-validate recipe.yaml -o runs/folds
      anyner cross-validate recipe.yaml -o runs/folds --fold 2
      anyner train --refit-from runs/folds -o runs/model
      anyner train recipe.yaml --set data.soft_labels=runs/folds/soft_labels.jsonl -o runs/model
    """
    from anyner.corpora.corpus import counted
    from anyner.training.config import Recipe
    from anyner.training.cross_validation import cross_validate as run
    from anyner.training.cross_validation import train_fold

    ready = Recipe.read(recipe, changes or [])
    with listening(quiet) as listener:
        if fold is not None:
            say(f"{train_fold(ready, output, folds, fold, listener)}: trained")
            return
        result = run(ready, output, folds, listener)
    thresholds = ", ".join(f"{name} {value:g}" for name, value in result.refit.thresholds.items())
    discontinuous = f", discontinuous {100 * result.discontinuous.f1:.2f}" if result.discontinuous.gold else ""
    say(
        f"{output}: out-of-fold F1 {100 * result.score.f1:.2f}{discontinuous}; best epoch {result.refit.epoch}, {thresholds}; "
        f"soft labels for {counted(result.documents, 'document')} ({counted(result.entities, 'entity', 'entities')})"
    )
    if not result.score.correct:
        warn_nothing_learned()
