"""What the commands that train models of folds have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from anyner.cli.output import say

if TYPE_CHECKING:
    from anyner.training.progress import Listener

Fold = Annotated[
    int | None,
    typer.Option("--fold", min=1, metavar="N", help="Train the model of this fold alone, so that folds can go side by side."),
]
Changes = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe, as training.epochs=5.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on the way.")]


@contextmanager
def listening(quiet: bool) -> Iterator[Listener | None]:
    """What is told on the way, and how to go on if it was stopped."""
    from anyner.training.loop import Interrupted
    from anyner.training.progress import TerminalListener

    try:
        with nullcontext() if quiet else TerminalListener() as listener:
            yield listener
    except Interrupted as stopped:
        say("anyner: stopped, and all is saved: the same command goes on", err=True)
        raise typer.Exit(stopped.exit_code) from None
