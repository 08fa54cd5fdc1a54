"""Errors of the person at the keyboard in one line, as the command line of the package tells them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from anyner.errors import AnynerError


def plainly(main: Callable[[], None]) -> None:
    """Runs a script's `main`; what was wrong with its input is said without a traceback."""
    try:
        main()
    except AnynerError as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
