from __future__ import annotations

import json
from pathlib import Path

import pytest

from anyner.corpora.reading import read
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError

DOCUMENT = Document("😀 Pain 😀", (Entity("ADR", ((2, 6),), 0.5), Entity("Mood", ((7, 8),))), id="1")


def test_an_emoji_is_two_units(tmp_path: Path) -> None:
    write([DOCUMENT], tmp_path / "x", "utf16")
    item = json.loads((tmp_path / "x").read_text(encoding="utf-8"))
    assert item["stringIndexType"] == "Utf16CodeUnit"
    assert item["entities"][0] == {"category": "ADR", "offset": 3, "length": 4, "text": "Pain", "confidenceScore": 0.5}
    assert (item["entities"][1]["offset"], item["entities"][1]["length"]) == (8, 2)
    units = item["text"].encode("utf-16-le")
    assert units[2 * 8 : 2 * 10].decode("utf-16-le") == "😀"
    assert read(tmp_path / "x").documents == (DOCUMENT,)


@pytest.mark.parametrize(
    ("entity", "what"),
    [
        ({"category": "A", "offset": 1, "length": 3}, "split a surrogate pair"),
        ({"category": "A", "offset": 3, "length": 9}, "out of range: '😀 Pain 😀' has 8 characters"),
        ({"category": "A", "offset": 3, "length": 4, "text": "hip"}, "annotated text 'hip' differs"),
        ({"category": "A", "start": 3, "end": 4}, 'expected "offset" and "length"'),
    ],
)
def test_what_does_not_fit_is_reported(tmp_path: Path, entity: dict[str, object], what: str) -> None:
    (tmp_path / "x").write_text(json.dumps({"text": DOCUMENT.text, "entities": [entity]}), encoding="utf-8")
    (problem,) = read(tmp_path / "x", "utf16").problems
    assert what in problem.what


def test_other_units_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(json.dumps({"stringIndexType": "TextElement_V8", "text": "a"}), encoding="utf-8")
    with pytest.raises(AnynerError, match="expected Utf16CodeUnit, got 'TextElement_V8'"):
        read(tmp_path / "x")
