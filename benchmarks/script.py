"""Shared by the scripts: the argument parser, the folder of results, and one-line errors instead of tracebacks."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from anyner.benchmark.record import write
from anyner.errors import AnynerError

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks/results"


def parser_of(description: str | None) -> ArgumentParser:
    """A parser whose help shows the script's docstring as it is."""
    return ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)


def add_plugins(parser: ArgumentParser) -> None:
    parser.add_argument("--plugin", action="append", default=[], help="module to import first; it registers an architecture")


def import_plugins(modules: list[str]) -> None:
    for module in modules:
        import_module(module)


def write_result(result: Mapping[str, Any], output: str | None) -> None:
    """Writes a results file, if one is asked for; a bare file name goes to benchmarks/results."""
    if output:
        path = Path(output)
        write(result, path if path.parent.name else RESULTS / path)


def run(main: Callable[[], int | None]) -> None:
    """Runs a script's `main` and exits with its code. A user's mistake becomes one line on stderr, a bug a traceback."""
    try:
        sys.exit(main())
    except AnynerError as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
    except OSError as error:
        if error.filename is None:
            raise
        sys.exit(f"{Path(sys.argv[0]).name}: {error.filename}: {error.strerror}")
