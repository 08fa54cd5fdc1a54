from __future__ import annotations

import json
from pathlib import Path

import pytest

from anyner.corpora.reading import read, recognised
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError

TEXT = "Pain in hip and knees"
ENTITIES = [
    {"id": 10, "label": "ADR", "start_offset": 0, "end_offset": 7},
    {"id": 12, "label": "ADR", "start_offset": 16, "end_offset": 21},
]


def test_both_forms_are_written_as_doccano_has_them(tmp_path: Path) -> None:
    flat = Document(TEXT, (Entity("ADR", ((0, 7),)),), id="4")
    write([flat], tmp_path / "a", "doccano")
    assert json.loads((tmp_path / "a").read_text()) == {"id": "4", "text": TEXT, "label": [[0, 7, "ADR"]]}
    apart = Document(TEXT, (Entity("ADR", ((0, 7), (16, 21))),), id="4")
    with pytest.raises(AnynerError, match="it is discontinuous"):
        write([apart], tmp_path / "b", "doccano")
    write([apart], tmp_path / "b", "doccano-relations")
    item = json.loads((tmp_path / "b").read_text())
    assert [(one["start_offset"], one["end_offset"]) for one in item["entities"]] == [(0, 7), (16, 21)]
    assert item["relations"] == [{"id": 0, "from_id": 0, "to_id": 1, "type": "discontinuous"}]
    assert read(tmp_path / "b").documents == (apart,)


@pytest.mark.parametrize(("kind", "entities"), [("discontinuous", 1), ("causes", 2)])
def test_only_relations_of_our_type_join_fragments(tmp_path: Path, kind: str, entities: int) -> None:
    relations = [{"id": 1, "from_id": 12, "to_id": 10, "type": kind}]
    (tmp_path / "x").write_text(json.dumps({"id": 1, "text": TEXT, "entities": ENTITIES, "relations": relations, "Comments": []}))
    corpus = read(tmp_path / "x")
    assert (len(corpus.documents[0].entities), len(corpus.problems)) == (entities, entities - 1)
    assert all('a relation is not read: only those of the type "discontinuous"' in problem.what for problem in corpus.problems)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ({"text": TEXT, "label": []}, "doccano"),
        ({"text": TEXT, "labels": [[0, 7, "ADR"]]}, "doccano"),
        ({"text": TEXT, "labels": ["ADR"]}, "jsonl"),
        ({"text": TEXT, "entities": ENTITIES}, "doccano-relations"),
        ({"text": TEXT, "entities": [], "labels": ["ADR"]}, "jsonl"),
        ({"text": TEXT, "spans": [], "label": []}, "prodigy"),
    ],
)
def test_which_dialect_of_json_lines_it_is(tmp_path: Path, line: dict[str, object], name: str) -> None:
    (tmp_path / "x").write_text(json.dumps(line))
    assert recognised(tmp_path / "x").name == name
