"""`anyner.render` and what a notebook shows of a document."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import anyner
from anyner import AnynerError, Document, Entity

DOCUMENT = Document("pain in the hip", (Entity("Symptom", ((0, 15),), 0.9), Entity("Body", ((12, 15),))), id="one")


def test_a_notebook_shows_a_document_and_a_drawing() -> None:
    shown = DOCUMENT._repr_html_()
    assert shown is not None and 'data-label="Symptom"' in shown and "<script" not in shown and "<html" not in shown
    assert anyner.render(DOCUMENT)._repr_html_() == shown
    assert anyner.render([DOCUMENT, DOCUMENT])._repr_html_().count("<article>") == 2


def test_a_document_without_the_package_has_no_html(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyner.document._html_renderer", None)
    assert DOCUMENT._repr_html_() is None


def test_showing_a_document_imports_no_torch() -> None:
    code = "import sys, anyner; x = anyner.Document('x'); anyner.render(x).html(); x._repr_html_(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_file_suffix_decides_how_a_drawing_is_saved(tmp_path: Path) -> None:
    drawing = anyner.render([DOCUMENT])
    for ending, start in ((".html", "<!DOCTYPE html>"), (".svg", "<svg "), (".txt", "pain in the hip\n")):
        drawing.save(tmp_path / f"x{ending}")
        assert (tmp_path / f"x{ending}").read_text(encoding="utf-8").startswith(start)
    assert str(drawing) == repr(drawing) == (tmp_path / "x.txt").read_text(encoding="utf-8").rstrip("\n")
    with pytest.raises(AnynerError, match=r"ends in \.html, \.svg, \.txt"):
        drawing.save(tmp_path / "x.pdf")
    with pytest.raises(AnynerError, match="expected Document, got str"):
        anyner.render(["text"])  # type: ignore[list-item]
