"""Errors of the person at the keyboard in one line, as the command line of the package tells them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from anyner.errors import AnynerError


def plainly(main: Callable[[], int | None]) -> None:
    """Runs a script's `main`, which may return an exit code; what was wrong with its input is said without a traceback."""
    try:
        sys.exit(main())
    except AnynerError as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
    except OSError as error:
        if error.filename is None:
            raise
        sys.exit(f"{Path(sys.argv[0]).name}: {error.filename}: {error.strerror}")
