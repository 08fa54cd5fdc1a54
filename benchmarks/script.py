"""Shared by the scripts: arguments, the header of every results file, and one-line errors instead of tracebacks."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
import transformers

from anyner.errors import AnynerError
from anyner.storage.files import write_text
from anyner.version import __version__

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


def header(what: str) -> dict[str, Any]:
    """The kind of result, the command that made it, when, and on what."""
    command = shlex.join(["python", Path(sys.argv[0]).as_posix(), *sys.argv[1:]])
    return {"what": what, "command": command, "date": datetime.now(UTC).date().isoformat(), "machine": machine()}


def machine() -> dict[str, str]:
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or platform.machine()
    return {
        "device": device,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "anyner": __version__,
    }


def write(result: Mapping[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(result, indent=1, ensure_ascii=False) + "\n")


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
