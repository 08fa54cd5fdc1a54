"""The span JSON, the W2NER JSON and the GLiNER JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anyner.corpora.corpus import Corpus
from anyner.corpora.reading import read
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError

WORDS = ["Pain", "in", "hip", "and", "knees"]


def _read(tmp_path: Path, content: Any, name: str | None = None) -> Corpus:
    path = tmp_path / "corpus.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read(path, name)


def _found(corpus: Corpus) -> list[tuple[str, str]]:
    return [(entity.label, entity.text) for document in corpus for entity in document.entities]


def test_spans_with_context_and_both_spellings_of_the_id(tmp_path: Path) -> None:
    entity = {"type": "ADR", "start": 0, "end": 3}
    corpus = _read(
        tmp_path,
        [
            {
                "tokens": WORDS,
                "entities": [entity],
                "orig_id": "x1",
                "ltokens": ["So", "."],
                "rtokens": ["Then", "?"],
                "relations": [],
            },
            {"tokens": WORDS, "entities": [], "org_id": 7},
        ],
    )
    assert _found(corpus) == [("ADR", "Pain in hip")]
    assert [(d.id, d.before, d.after) for d in corpus] == [("x1", "So .", "Then ?"), ("7", "", "")]
    assert corpus.problems == ()


def test_context_and_id_are_written(tmp_path: Path) -> None:
    document = Document.from_words(WORDS, id="x", before="So .", after="Then ?")
    write([document], tmp_path / "c.json", "spans")
    (back,) = read(tmp_path / "c.json")
    assert (back.id, back.before, back.after) == ("x", "So .", "Then ?")


def test_gaps_in_the_w2ner_index_are_fragments(tmp_path: Path) -> None:
    ner = [{"index": [0, 1, 2], "type": "ADR"}, {"index": [0, 1, 4], "type": "ADR"}]
    corpus = _read(tmp_path, [{"sentence": WORDS, "ner": ner, "word": []}])
    assert _found(corpus) == [("ADR", "Pain in knees"), ("ADR", "Pain in hip")]
    assert [len(entity.fragments) for entity in corpus.documents[0].entities] == [2, 1]


def test_w2ner_index_out_of_order(tmp_path: Path) -> None:
    corpus = _read(tmp_path, [{"sentence": WORDS, "ner": [{"index": [2, 0], "type": "X"}]}])
    assert _found(corpus) == [("X", "Pain hip")]
    assert [problem.kept for problem in corpus.problems] == [True]


@pytest.mark.parametrize(
    "entity",
    [{"index": [], "type": "X"}, {"index": [0, 0], "type": "X"}, {"index": [5], "type": "X"}, {"index": [-1], "type": "X"},
     {"index": ["0"], "type": "X"}, {"index": 0, "type": "X"}, {"index": [0]}, {"index": [0], "type": ""}, 3],
)  # fmt: skip
def test_bad_w2ner_entities(tmp_path: Path, entity: Any) -> None:
    corpus = _read(tmp_path, [{"sentence": WORDS, "ner": [entity, {"index": [4], "type": "PART"}]}])
    assert _found(corpus) == [("PART", "knees")]
    assert [problem.kept for problem in corpus.problems] == [False]


@pytest.mark.parametrize(
    "entity",
    [{"type": "X", "start": 3, "end": 2}, {"type": "X", "start": 0, "end": 6}, {"type": "X", "start": 0}, {"start": 0, "end": 1},
     {"type": None, "start": 0, "end": 1}, {"type": "X", "start": "0", "end": 1}, []],
)  # fmt: skip
def test_bad_span_entities(tmp_path: Path, entity: Any) -> None:
    corpus = _read(tmp_path, [{"tokens": WORDS, "entities": [entity, {"type": "PART", "start": 4, "end": 5}]}])
    assert _found(corpus) == [("PART", "knees")]
    assert [problem.kept for problem in corpus.problems] == [False]


@pytest.mark.parametrize(("name", "key"), [("spans", "tokens"), ("w2ner", "sentence")])
def test_bad_items_name_their_line(tmp_path: Path, name: str, key: str) -> None:
    items = [{key: ["a"]}, {key: "a"}, {key: ["a", 3]}, {key: [""]}, {key: ["\ud800"]}, 3, {key: ["b"]}]
    content = "[\n" + ",\n".join(json.dumps(item) for item in items) + "\n]"
    corpus = _read(tmp_path, content, name)
    assert [document.text for document in corpus] == ["a", "b"]
    assert [(problem.line, problem.kept) for problem in corpus.problems] == [(line, False) for line in (3, 4, 5, 6, 7)]


@pytest.mark.parametrize("name", ["spans", "w2ner"])
@pytest.mark.parametrize("tail", [',\n{"tok', ",\n", "\n", ",\n}]", " 5]"])
def test_a_broken_list_keeps_what_came_before(tmp_path: Path, name: str, tail: str) -> None:
    corpus = _read(tmp_path, '[{"tokens": ["a"], "sentence": ["a"]}' + tail, name)
    assert [document.text for document in corpus] == ["a"]
    assert [problem.kept for problem in corpus.problems] == [False]
    assert "rest of the file" in corpus.problems[0].what


@pytest.mark.parametrize(
    ("content", "message"), [('{"tokens": []}', "not a JSON list"), ("[{]", "not valid JSON"), ("[3]", "tokens")]
)
def test_nothing_readable_is_an_error(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(AnynerError, match=message):
        _read(tmp_path, content, "spans")


def test_an_empty_list_is_an_empty_corpus(tmp_path: Path) -> None:
    assert _read(tmp_path, " [ \n] ").documents == ()


def test_spans_refuse_discontinuous(tmp_path: Path) -> None:
    document = Document.from_words(WORDS, [Entity("ADR", ((0, 2), (4, 5))), Entity("ADR", ((0, 3),))], id="case")
    with pytest.raises(AnynerError, match=r"document 1 \('case'\): entity 'ADR' 'Pain in knees': it is discontinuous"):
        write([document], tmp_path / "c.json", "spans")
    (lost,) = write([document], tmp_path / "c.json", "spans", lossy=True)
    assert not lost.kept
    assert _found(read(tmp_path / "c.json")) == [("ADR", "Pain in hip")]


def test_tags_in_a_json_list_are_reported(tmp_path: Path) -> None:
    corpus = _read(tmp_path, json.dumps([{"tokens": ["Kofi", "spoke"], "ner_tags": ["B-PER", "O"]}]), "spans")
    (problem,) = corpus.problems
    assert not problem.kept and '"ner_tags" is read in JSON lines only' in problem.what


@pytest.mark.parametrize("ends", [("[", ",\n", "]"), ("", "\n", "\n")], ids=["list", "lines"])
def test_gliner_includes_the_last_word_and_comes_as_list_or_lines(tmp_path: Path, ends: tuple[str, str, str]) -> None:
    first = {"tokenized_text": ["Pain", "in", "hip"], "ner": [[0, 2, "ADR"], [2, 2, "Body"], [2, 3, "X"], ["2", 2, "Y"]]}
    opened, between, closed = ends
    (tmp_path / "x").write_text(opened + json.dumps(first) + between + json.dumps({"tokenized_text": ["No"], "ner": []}) + closed)
    corpus = read(tmp_path / "x")
    assert [[entity.text for entity in document.entities] for document in corpus] == [["Pain in hip", "hip"], []]
    range_, form = (problem.what for problem in corpus.problems)
    assert "out of range: 'Pain in hip' has 3 words" in range_ and "expected first word, last word and label" in form
