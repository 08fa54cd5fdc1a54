from __future__ import annotations

import json
from pathlib import Path

import pytest

from anyner.corpora.reading import read
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError

DOCUMENT = Document("😀 Pain 😀", (Entity("ADR", ((2, 6),)), Entity("Mood", ((7, 8),))), id="note-1")


def test_labels_count_units_of_the_text_beside_the_file(tmp_path: Path) -> None:
    write([DOCUMENT], tmp_path / "project", "azure")
    assert (tmp_path / "project" / "note-1.txt").read_text(encoding="utf-8") == DOCUMENT.text
    project = json.loads((tmp_path / "project" / "labels.json").read_text(encoding="utf-8"))
    assert project["stringIndexType"] == "Utf16CodeUnit"
    assert project["assets"]["entities"] == [{"category": "ADR"}, {"category": "Mood"}]
    (region,) = project["assets"]["documents"][0]["entities"]
    assert (region["regionLength"], region["labels"][1]) == (10, {"category": "Mood", "offset": 8, "length": 2})
    for path in (tmp_path / "project", tmp_path / "project" / "labels.json"):
        assert read(path).documents == (DOCUMENT,)


@pytest.mark.parametrize("location", ["../secret.txt", "/etc/passwd", "missing.txt", None, "."])
def test_a_text_that_is_not_beside_the_file_is_refused(tmp_path: Path, location: str | None) -> None:
    (tmp_path / "secret.txt").write_text("x")
    (tmp_path / "project").mkdir()
    assets = {"projectKind": "CustomEntityRecognition", "documents": [{"location": location, "entities": []}]}
    (tmp_path / "project" / "labels.json").write_text(json.dumps({"assets": assets}))
    with pytest.raises(AnynerError, match=r"document 1: text file .* is not beside the labels file"):
        read(tmp_path / "project")
