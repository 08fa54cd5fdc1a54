"""`anyner adapt`: an encoder that has learned the language of your texts, for trainings to start from."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from anyner.cli.output import say


def adapt(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="The recipe whose encoder learns, from its training texts.")],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXTS", help="More to learn from: text files, folders of them, corpora.")
    ] = None,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Where the encoder goes.")],
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe, as adapting.epochs=20.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on the way.")] = False,
) -> None:
    """Have an encoder learn the language of your texts, for trainings to start from.

    Words of the recipe's training texts are hidden, and its encoder learns to find them: nothing of it needs annotation. It
    helps where texts are unlike those that the encoder knows, as those of biomedicine are. Texts of dev and test stay unread.

    \b
    Examples:
      anyner adapt recipe.yaml -o runs/adapted
      anyner adapt recipe.yaml notes/ abstracts.txt -o runs/adapted --set adapting.epochs=20
      anyner train recipe.yaml --set encoder.source=runs/adapted -o runs/model
    """
    from anyner.cli.texts import documents_of
    from anyner.training.adapting import adapt as run
    from anyner.training.config import Recipe
    from anyner.training.progress import TerminalListener

    ready = Recipe.read(recipe, changes or [])
    more = list(documents_of(None, texts or [], lines=False, context=0))
    with nullcontext() if quiet else TerminalListener() as listener:
        result = run(ready, output, more, listener)
    found = f"{result.words:,} words; {result.found:.1%} of hidden pieces found in texts it did not learn from"
    if result.exit_code:
        say(f"anyner: stopped after {result.epochs} epochs; {output} holds the encoder as it was then: {found}", err=True)
        raise typer.Exit(result.exit_code)
    say(f"{output}: {found}")
