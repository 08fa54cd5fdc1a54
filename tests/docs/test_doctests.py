"""Examples in docstrings are right. Of modules that need torch only those whose examples use a bundled model are run."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest
from markdown_pages import ROOT

SOURCE = ROOT / "src"
TORCH_FREE = ("document", "overlap", "settings", "errors", "corpora", "text", "evaluation", "view")


def modules() -> list[str]:
    files = [path for name in TORCH_FREE for path in [SOURCE / f"anyner/{name}.py", *(SOURCE / "anyner" / name).rglob("*.py")]]
    return sorted(module_of(path) for path in files if path.is_file() and ">>>" in path.read_text(encoding="utf-8"))


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def test_there_are_examples() -> None:
    assert {"anyner.document", "anyner.overlap"} <= set(modules())


@pytest.mark.parametrize("name", [*modules(), "anyner.inference.recognizer"])
def test_examples_in_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0
