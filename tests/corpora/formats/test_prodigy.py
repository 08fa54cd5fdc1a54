from __future__ import annotations

import json
from pathlib import Path

from anyner.corpora.reading import read
from anyner.corpora.writing import write
from anyner.document import Document, Entity


def test_spans_name_their_last_token_and_tokens_come_back_as_words(tmp_path: Path) -> None:
    document = Document.from_words(["Pain", "in", "hip"], [Entity("ADR", ((0, 3),), 0.5), Entity("Body", ((2, 3),))], id="4")
    write([document], tmp_path / "x", "prodigy")
    item = json.loads((tmp_path / "x").read_text())
    assert item["spans"][0] == {"start": 0, "end": 11, "label": "ADR", "token_start": 0, "token_end": 2, "score": 0.5}
    assert item["tokens"][1] == {"text": "in", "start": 5, "end": 7, "id": 1, "ws": True}
    assert (item["answer"], item["tokens"][2]["ws"]) == ("accept", False)
    assert read(tmp_path / "x").documents == (document,)


def test_an_entity_between_tokens_has_no_token_numbers(tmp_path: Path) -> None:
    document = Document("Pain", (Entity("ADR", ((1, 3),)),), words=((0, 4),))
    write([document], tmp_path / "x", "prodigy")
    assert json.loads((tmp_path / "x").read_text())["spans"] == [{"start": 1, "end": 3, "label": "ADR"}]
    assert read(tmp_path / "x").documents == (document,)
