"""The command line: `anyner COMMAND`. A command is imported when it is named, what is heavy (torch above all) when it runs."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from anyner import __version__
from anyner.errors import AnynerError, printable

_INTERRUPTED, _PIPE_CLOSED = 130, 141
"""Exit codes as a shell gives them for the signals INT and PIPE."""


COMMANDS = {
    "predict": "Find entities in texts.",
    "train": "Train a model; the folder holds the best epoch, judged on dev.",
    "adapt": "Have an encoder learn the language of your texts, for trainings to start from.",
    "choose": "Find the best epoch and thresholds by cross-validation, for a training on all documents.",
    "crossfit": "Write what models hold for entities of training documents that they did not learn from.",
    "evaluate": "Score a model on a corpus.",
    "inspect": "Tell what is in a corpus, and what is wrong with it.",
    "convert": "Write a corpus in another format.",
    "benchmark": "Measure accuracy, speed and memory of a recipe or a model.",
    "models": "List the models that come with this installation.",
    "info": "Tell about this installation, or about a model.",
}
"""Every command is the function of its name in the file of its name; the list of them is shown without loading any."""


class CommandGroup(TyperGroup):
    """All commands, and what becomes of their errors: one line on stderr for a user's mistake, a traceback for a bug."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        alone = typer.Typer(**_LOOKS)
        alone.command(cmd_name)(getattr(import_module(f"anyner.cli.{cmd_name}"), cmd_name))
        return typer.main.get_command(alone)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

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
        except Exception as error:
            if isinstance(message := getattr(error, "message", None), str):  # a usage error, which quotes the command line
                error.message = printable(message)  # type: ignore[attr-defined]
            raise


def _stop(message: str, code: int = 1) -> NoReturn:
    typer.echo(f"anyner: {printable(message)}", err=True)
    raise typer.Exit(code)


def _forget_stdout() -> None:
    # Python flushes stdout once more on its way out, and would complain about the closed pipe then.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


_LOOKS: dict[str, Any] = {
    "rich_markup_mode": None,  # importing rich would double the time that --help takes
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 110},
}
app = typer.Typer(cls=CommandGroup, name="anyner", no_args_is_help=True, **_LOOKS)


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
    """The entry point: exit code 0, 1 after an error, 2 after a usage error, 130 after Ctrl-C, 143 after SIGTERM."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # a name that is not UTF-8 must not end a run
    app(prog_name="anyner")
