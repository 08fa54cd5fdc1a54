from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anyner.corpora.reading import read, recognised
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError

FILES = Path(__file__).parent.parent / "files"
TEXT = "Pain in hip and knees"


@pytest.mark.parametrize("name", ["bytes.xml", "bytes.json"])
def test_a_file_of_bconv_which_counts_bytes(name: str) -> None:
    corpus = read(FILES / name)
    (document,) = corpus
    assert document.text == "😀 Zoë Alden took Cryoprin in Kelford.\nZoë is well.\n"
    assert [(entity.label, entity.text) for entity in document.entities] == [
        ("Person", "Zoë Alden"),
        ("GivenName", "Zoë"),
        ("Drug", "Cryoprin"),
        ("Place", "Kelford"),
        ("Person", "Zoë"),
    ]
    assert [problem.what for problem in corpus.problems] == ["the offsets count UTF-8 bytes: converted"]


def passage(offset: int, text: str, *annotations: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"offset": offset, "text": text, "annotations": list(annotations)} | more


def annotation(label: str, *places: tuple[int, int], **infons: str) -> dict[str, Any]:
    return {"infons": {"type": label} | infons, "locations": [{"offset": offset, "length": length} for offset, length in places]}


def test_passages_sentences_and_fragments(tmp_path: Path) -> None:
    sentences = [{"offset": 100, "text": "Yes.", "annotations": [annotation("S", (100, 3))]}, {"offset": 105, "text": "No."}]
    item = {
        "id": 5,
        "passages": [
            passage(0, TEXT, annotation("ADR", (0, 7), (16, 5), identifier="D1")),
            {"offset": 100, "sentences": sentences, "relations": [{}], "annotations": [annotation("N", (105, 2))]},
        ],
        "annotations": [annotation("B", (8, 3)), annotation("gap", (50, 2))],
    }
    (tmp_path / "x").write_text(json.dumps({"source": "s", "documents": [item]}))
    corpus = read(tmp_path / "x")
    (document,) = corpus
    assert (document.text, document.id) == (f"{TEXT}\nYes.\nNo.", "5")
    assert [(entity.label, entity.text) for entity in document.entities] == [
        ("ADR", "Pain in knees"), ("B", "hip"), ("S", "Yes"), ("N", "No")
    ]  # fmt: skip
    found = [problem.what for problem in corpus.problems]
    assert "out of range" in found[0] and found[1:] == [
        "relations are not read: 1 skipped",
        "identifiers of entities are not read: 1 skipped",
    ]


def test_answers_of_the_pubtator_service(tmp_path: Path) -> None:
    one = {"id": "1", "passages": [passage(0, TEXT, annotation("ADR", (0, 4)))]}
    for content in ({"PubTator3": [one, one]}, [{"documents": [one]}, {"documents": [one]}]):
        (tmp_path / "x").write_text(json.dumps(content))
        assert [len(document.entities) for document in read(tmp_path / "x")] == [1, 1]
    (tmp_path / "x").write_text(f"{json.dumps(one)}\n{json.dumps(one)}\n")
    assert recognised(tmp_path / "x").name == "bioc-json"
    assert [len(document.entities) for document in read(tmp_path / "x")] == [1, 1]


BOMB = '<!DOCTYPE collection [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
STOLEN = '<!DOCTYPE collection [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
BODY = "<collection><document><id>1</id><passage><offset>0</offset><text>%s</text></passage></document></collection>"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (BOMB + BODY % "&b;", "declarations in DOCTYPE are not allowed"),
        (STOLEN + BODY % "&x;", "declarations in DOCTYPE are not allowed"),
        (BODY % "&undeclared;", "not valid XML: undefined entity; .*"),
        ("<collection>" + "<document>" * 40, "elements are nested more than 30 deep"),
        (BODY[:59], "not valid XML: no element found; .*"),
    ],
)
def test_hostile_and_broken_xml_is_refused_with_its_line(tmp_path: Path, content: str, what: str) -> None:
    (tmp_path / "x").write_text("<?xml version='1.0'?>\n" + content)
    with pytest.raises(AnynerError, match=rf"^{tmp_path / 'x'}:\d+: {what}$"):
        read(tmp_path / "x")


def test_what_stands_before_a_syntax_error_is_read(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(BODY.replace("</collection>", "<document>") % TEXT)
    corpus = read(tmp_path / "x")
    assert [document.text for document in corpus] == [TEXT]
    assert "the rest of the file cannot be read" in corpus.problems[0].what


def test_xml_refuses_characters_that_it_cannot_hold(tmp_path: Path) -> None:
    write([Document("a\rb\tc & <d>", (Entity("x\r", ((0, 3),)),), id="<&>")], tmp_path / "x", "bioc-xml")
    assert read(tmp_path / "x").documents[0].entities[0].key == ("x\r", ((0, 3),))
    with pytest.raises(AnynerError, match=r"its text holds the character U\+0000, which XML cannot hold"):
        write([Document("a\x00")], tmp_path / "x", "bioc-xml")


def test_a_document_without_passages_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"documents": [{"text": "Pain"}]}')
    with pytest.raises(AnynerError, match='a document has no "passages"'):
        read(tmp_path / "x.json")
