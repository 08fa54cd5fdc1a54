"""The command line: `anyner COMMAND`. What is heavy (torch above all) is imported by a command when it runs."""

from __future__ import annotations

import errno
import os
import sys
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from anyner import __version__
from anyner.cli.convert import convert
from anyner.cli.evaluate import evaluate
from anyner.cli.info import info
from anyner.cli.inspect import inspect
from anyner.cli.models import models
from anyner.cli.predict import predict
from anyner.cli.train import train
from anyner.errors import AnynerError

_INTERRUPTED, _PIPE_CLOSED = 130, 141
"""Exit codes as a shell gives them for the signals INT and PIPE."""


class CommandGroup(TyperGroup):
    """All commands, and what becomes of their errors: one line on stderr for a user's mistake, a traceback for a bug."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except AnynerError as error:
            _stop(str(error))
        except KeyboardInterrupt:
            _stop("stopped", _INTERRUPTED)
        except BrokenPipeError:
            _forget_stdout()
            raise typer.Exit(_PIPE_CLOSED) from None
        except OSError as error:
            if error.filename is None and error.errno != errno.ENOSPC:
                raise
            _stop(f"{error.filename or 'a file'}: {error.strerror}")


def _stop(message: str, code: int = 1) -> NoReturn:
    typer.echo(f"anyner: {' '.join(message.splitlines())}", err=True)
    raise typer.Exit(code)


def _forget_stdout() -> None:
    # Python flushes stdout once more on its way out, and would complain about the closed pipe then.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


app = typer.Typer(
    cls=CommandGroup,
    name="anyner",
    rich_markup_mode=None,  # importing rich would double the time that --help takes
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for _command in (predict, train, evaluate, inspect, convert, models, info):
    app.command()(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"anyner {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Named entities of any shape: flat, nested, overlapping, discontinuous.

    Results go to stdout, messages to stderr; `-` is stdin. `anyner COMMAND --help` shows examples.
    """


def run() -> None:
    """The entry point: exit code 0, 1 after an error, 2 after a usage error, 130 after Ctrl-C."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    app(prog_name="anyner")
