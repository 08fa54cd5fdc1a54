"""The drawing on the page is the one that the library makes now."""

from __future__ import annotations

from importlib import import_module

import pytest
from run_scripts import SCRIPTS


def test_the_picture_of_the_page_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    screenshots = import_module("screenshots")
    drawn = (screenshots.FIGURES / "drawing.svg").read_text(encoding="utf-8")
    assert drawn == screenshots.drawing().svg(), "run benchmarks/screenshots.py"


def test_screenshots_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    for path in import_module("screenshots").FIGURES.glob("*.png"):
        assert path.stat().st_size < 150_000, path.name
