"""The command line: `anyner COMMAND`. Commands are imported when called; heavy libraries, above all torch, when needed."""

from __future__ import annotations

import errno
import os
import sys
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from anyner import __version__
from anyner.errors import AnynerError, printable

_INTERRUPTED, _PIPE_CLOSED = 130, 141
"""Exit codes that a shell reports for SIGINT and SIGPIPE."""


_EXTRAS = {"fastapi": "serve", "uvicorn": "serve"} | dict.fromkeys(
    ("torch", "transformers", "accelerate", "scipy", "filelock", "onnx", "onnx_ir", "onnxscript"), "train"
)
"""Libraries that prediction on a CPU does not need, and the extra that installs each."""

COMMANDS = {
    "predict": "Find entities in texts.",
    "train": "Train a model and keep the best epoch on dev.",
    "pretrain": "Continue pre-training an encoder on your texts (masked language modelling).",
    "cross-validate": "Train K folds; write out-of-fold predictions (soft labels) and the best epoch and thresholds.",
    "evaluate": "Score a model, or a file of predictions, on a corpus.",
    "compare": "Compare two models, or two files of predictions, on a corpus.",
    "calibrate": "Calibrate scores to probabilities and choose thresholds for F1, precision or recall.",
    "export": "Export a model to ONNX, into its own folder, for prediction without torch.",
    "push": "Upload a model to the Hugging Face Hub.",
    "serve": "Serve models over HTTP.",
    "inspect": "Show what is in a corpus, and what is wrong with it.",
    "convert": "Write a corpus in another format.",
    "models": "List the models that come with this installation.",
    "info": "Show details of this installation, or of a model.",
}
"""Each command is the function of that name in the module of that name; listing them imports none."""


class CommandGroup(TyperGroup):
    """All commands. A user error prints one line on stderr, a bug a traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        alone = typer.Typer(**_LOOKS)
        alone.command(cmd_name)(getattr(import_module(f"anyner.cli.{name}"), name))
        return typer.main.get_command(alone)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0] if args else ""
        if name not in COMMANDS and (close := get_close_matches(name, COMMANDS, n=1)):
            ctx.fail(f"No such command {name!r}; did you mean {close[0]!r}?")
        return super().resolve_command(ctx, args)

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
        except ModuleNotFoundError as error:
            extra = _EXTRAS.get((error.name or "").partition(".")[0])
            if extra is None:
                raise
            _stop(f"this needs {error.name}, which is not installed: pip install 'anyner[{extra}]'")
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
    # Python flushes stdout again at exit, and would complain about the closed pipe.
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
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # a name that is not UTF-8 must not abort a run
    app(prog_name="anyner")
