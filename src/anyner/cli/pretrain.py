"""`anyner pretrain`: domain-adaptive pre-training of a recipe's encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from anyner.cli.choices import ChangesOption, QuietOption, listening
from anyner.cli.output import say


def pretrain(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="The recipe with the encoder and the training texts.")],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXTS", help="Additional texts: text files, folders of them, or corpora.")
    ] = None,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Output folder of the encoder.")],
    epochs: Annotated[int | None, typer.Option(min=1, help="Number of epochs; default: 50.")] = None,
    changes: ChangesOption = None,
    quiet: QuietOption = False,
) -> None:
    """Continue pre-training an encoder on your texts (masked language modelling).

    Needs no annotation. It helps where your texts differ from what the encoder was trained on, e.g. biomedical text.
    Texts of dev and test are not read. Then train with encoder.source=DIR. Repeat an interrupted command to continue.

    \b
    Examples:
      anyner pretrain recipe.yaml -o runs/encoder
      anyner pretrain recipe.yaml notes/ abstracts.txt -o runs/encoder --epochs 20
      anyner train recipe.yaml --set encoder.source=runs/encoder -o runs/model
    """
    from anyner.cli.texts import Files
    from anyner.training.config import Recipe
    from anyner.training.pretraining import EPOCHS
    from anyner.training.pretraining import pretrain as run

    ready = Recipe.read(recipe, changes or [])
    more = Files(texts or []).all_documents()
    with listening(quiet) as listener:
        result = run(ready, output, more, epochs or EPOCHS, listener)
    say(f"{output}: {result.words:,} words; {result.accuracy:.1%} of masked pieces predicted in held-out windows")
