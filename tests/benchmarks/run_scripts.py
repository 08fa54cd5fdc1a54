"""Scripts of benchmarks/ run as programs, but in the process of the tests: each start of torch costs seconds."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "benchmarks"


def told_at_the_end(script: str, *arguments: str) -> object:
    """The argument of the script's exit: None, a code, or the line that Python writes to stderr before it exits with code 1."""
    with pytest.MonkeyPatch.context() as patched, pytest.raises(SystemExit) as ended:
        patched.syspath_prepend(str(SCRIPTS))
        patched.setattr(sys, "argv", [str(SCRIPTS / script), *arguments])
        runpy.run_path(str(SCRIPTS / script), run_name="__main__")
    return ended.value.code
