from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from anyner.corpora.corpus import Corpus
from anyner.corpora.reading import read
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError

PAIN = "Pain in hip and knees"


def _read(tmp_path: Path, *items: Any) -> Corpus:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join((item if isinstance(item, str) else json.dumps(item)) + "\n" for item in items))
    return read(path, "jsonl")


def _keys(corpus: Corpus) -> list[Any]:
    return [entity.key for document in corpus for entity in document.entities]


@pytest.mark.parametrize(
    "record", [{"text": "a b", "entities": []}, {"tokens": ["a", "b"], "ner_tags": ["O", "O"]}], ids=["text", "tags"]
)
@pytest.mark.parametrize("form", ["jsonl", "jsonl-tokens"])
def test_other_keys_are_kept_and_written_again(tmp_path: Path, record: dict[str, Any], form: str) -> None:
    meta = {"patient": 7, "notes": [{"entities": [], "é": None}]}
    corpus = _read(tmp_path, {**meta, **record, "_private": 1, "id": "a"}, record)
    assert [document.meta for document in corpus] == [meta, None] and not corpus.problems
    documents = [Document.from_words(["a", "b"], id=one.id, meta=one.meta) for one in corpus]
    write(documents, tmp_path / "again.jsonl", form)
    assert [document.meta for document in read(tmp_path / "again.jsonl")] == [meta, None]


def test_other_keys_with_values_that_json_lacks_are_left_out_and_reported(tmp_path: Path) -> None:
    corpus = _read(tmp_path, '{"text": "a", "entities": [], "size": NaN, "patient": 7}')
    (problem,) = corpus.problems
    assert corpus.documents[0].meta == {"patient": 7} and problem.kept and "'size' cannot" in problem.what


@pytest.mark.parametrize("words", [["Pain", "in", "hip"], 3, {"a": 1}])
def test_words_of_another_tool_do_not_drop_the_document(tmp_path: Path, words: Any) -> None:
    corpus = _read(tmp_path, {"text": PAIN, "words": words, "entities": [{"label": "ADR", "fragments": [[0, 4]]}]})
    assert _keys(corpus) == [("ADR", ((0, 4),))]
    (problem,) = corpus.problems
    assert "not pairs of character positions: left out" in str(problem)


def test_all_that_is_written_of_a_document_is_read_again(tmp_path: Path) -> None:
    document = Document(PAIN, id="a", doc="d", sentence=2, coverage=0.5, unknown=0.25, before="x", after="y")
    write([document], tmp_path / "corpus.jsonl", "jsonl")
    assert read(tmp_path / "corpus.jsonl").documents == (document,)


def test_both_forms_in_one_file(tmp_path: Path) -> None:
    corpus = _read(
        tmp_path,
        {"id": "a", "text": PAIN, "entities": [{"label": "ADR", "fragments": [[0, 7], [16, 21]], "score": 0.5}]},
        {"id": 2, "tokens": PAIN.split(), "doc": "d", "sentence": 3, "labels": ["ADR"],
         "entities": [{"label": "ADR", "fragments": [[0, 2], [4, 5]]}]},
    )  # fmt: skip
    assert corpus.problems == ()
    raw, tokens = corpus
    assert raw == Document(PAIN, (Entity("ADR", ((0, 7), (16, 21)), 0.5),), "a")
    expected = Document.from_words(PAIN.split(), [Entity("ADR", ((0, 2), (4, 5)))])
    assert (tokens.text, tokens.entities, tokens.words) == (expected.text, expected.entities, expected.words)
    assert (tokens.id, tokens.doc, tokens.sentence, tokens.labels) == ("2", "d", 3, frozenset({"ADR"}))
    assert raw.entities[0].text == "Pain in knees"


@pytest.mark.parametrize(
    "item",
    [
        {"text": PAIN, "spans": [{"start": 8, "end": 11, "label": "PART"}], "tokens": [{"text": "Pain", "start": 0, "end": 4}]},
        {"text": PAIN, "label": [[8, 11, "PART"]]},
        {"text": PAIN, "labels": [[8, 11, "PART"]]},
        {"text": PAIN, "entities": [{"id": 7, "start_offset": 8, "end_offset": 11, "label": "PART"}]},
        [PAIN, {"entities": [[8, 11, "PART"]]}],
    ],
)
def test_other_tools_forms(tmp_path: Path, item: Any) -> None:
    corpus = _read(tmp_path, item)
    assert corpus.problems == ()
    assert _keys(corpus) == [("PART", ((8, 11),))]
    assert corpus.documents[0].labels is None


@pytest.mark.parametrize("answer", ["reject", "ignore"])
def test_what_prodigy_annotators_did_not_accept_is_not_gold(tmp_path: Path, answer: str) -> None:
    spans = [{"start": 8, "end": 11, "label": "PART"}]
    accepted = {"text": PAIN, "spans": spans, "answer": "accept"}
    corpus = _read(tmp_path, accepted, *[{"text": PAIN, "spans": spans, "answer": answer}] * 2)
    assert _keys(corpus) == [("PART", ((8, 11),))] and len(corpus) == 1
    assert [(problem.line, problem.kept) for problem in corpus.problems] == [(2, False), (3, False)]
    assert all(f'"answer": "{answer}"' in problem.what for problem in corpus.problems)


def test_a_span_that_prodigy_annotators_rejected_is_not_gold(tmp_path: Path) -> None:
    spans = [
        {"start": 0, "end": 4, "label": "ADR", "answer": "reject"},
        {"start": 8, "end": 11, "label": "PART", "answer": "accept"},
    ]
    corpus = _read(tmp_path, {"text": PAIN, "spans": spans, "answer": "accept"})
    assert _keys(corpus) == [("PART", ((8, 11),))]
    assert [(problem.line, problem.kept) for problem in corpus.problems] == [(1, False)]


def test_a_file_of_rejected_records_alone_says_so(tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match=r'corpus\.jsonl:1: .*"answer": "reject".*and 1 more like it; nothing else'):
        _read(tmp_path, *[{"text": PAIN, "spans": [], "answer": "reject"}] * 2)


@pytest.mark.parametrize(
    ("entity", "label"),
    [
        ({"type": "PART", "start": 8, "end": 11}, "PART"),
        ({"type": "PART", "fragments": [[8, 11]]}, "PART"),
        ({"entity_group": "PART", "score": 0.5, "word": "hip", "start": 8, "end": 11}, "PART"),
        ({"label": "PART", "type": "span", "entity_group": "X", "start": 8, "end": 11}, "PART"),
        ({"label": None, "entity_group": "PART", "type": "span", "start": 8, "end": 11}, "PART"),
    ],
)
def test_other_names_of_the_label(tmp_path: Path, entity: dict[str, Any], label: str) -> None:
    corpus = _read(tmp_path, {"text": PAIN, "entities": [entity]})
    assert corpus.problems == ()
    assert _keys(corpus) == [(label, ((8, 11),))]
    assert corpus.documents[0].entities[0].score == entity.get("score")


def test_an_empty_list_of_doccano_labels_is_no_entities(tmp_path: Path) -> None:
    (document,) = _read(tmp_path, {"text": PAIN, "labels": []})
    assert document.entities == ()
    assert document.labels is None


@pytest.mark.parametrize(
    ("entity", "message"),
    [
        ({"label": "X", "fragments": [[0, 99]]}, "out of range: 'Pain in hip and knees' has 21 characters"),
        ({"label": "X", "fragments": [[-1, 3]]}, "out of range"),
        ({"label": "X", "fragments": [[4, 2]]}, "reversed"),
        ({"label": "X", "fragments": [[4, 4]]}, "empty"),
        ({"label": "X", "fragments": [[0, 5], [3, 8]]}, "overlaps"),
        ({"label": "X", "fragments": []}, "expected a non-empty list of fragments"),
        ({"label": "X", "fragments": [[0, 2.0]]}, "whole numbers"),
        ({"label": "X", "fragments": [[False, True]]}, "whole numbers"),
        ({"label": "X", "fragments": [["0", "2"]]}, "whole numbers"),
        ({"label": "X", "fragments": [[0, 1, 2]]}, "whole numbers"),
        ({"label": "", "fragments": [[0, 4]]}, "label"),
        ({"label": 3, "fragments": [[0, 4]]}, "label"),
        ({"fragments": [[0, 4]]}, "label"),
        ({"label": "\ud800", "fragments": [[0, 4]]}, "lone surrogate"),
        ("nonsense", "unknown form"),
        (None, "unknown form"),
    ],
)
def test_a_bad_entity_is_dropped_and_the_rest_kept(tmp_path: Path, entity: Any, message: str) -> None:
    good = {"label": "ADR", "fragments": [[0, 4]]}
    corpus = _read(tmp_path, {"text": "fine"}, {"text": PAIN, "entities": [entity, good]})
    assert _keys(corpus) == [("ADR", ((0, 4),))]
    (problem,) = corpus.problems
    assert (problem.line, problem.kept) == (2, False)
    assert message in problem.what
    str(problem).encode()


@pytest.mark.parametrize(
    ("entities", "message", "keys"),
    [
        ([{"label": "X", "fragments": [[8, 11], [0, 4]]}], "sorted", [("X", ((0, 4), (8, 11)))]),
        ([{"label": "X", "fragments": [[0, 4]]}] * 2, "duplicate", [("X", ((0, 4),))]),
        ([{"label": "X", "fragments": [[0, 4], [5, 7]]}, {"label": "X", "fragments": [[0, 7]]}], "duplicate", [("X", ((0, 7),))]),
        ([{"label": "X", "fragments": [[0, 4]], "text": "Pein"}], "differs", [("X", ((0, 4),))]),
        ([{"label": "X", "fragments": [[0, 4]], "score": "high"}], "score", [("X", ((0, 4),))]),
        ([{"label": "X", "fragments": [[0, 4]], "score": float("nan")}], "score", [("X", ((0, 4),))]),
    ],
)
def test_a_repaired_entity_is_kept_and_reported(tmp_path: Path, entities: Any, message: str, keys: Any) -> None:
    corpus = _read(tmp_path, {"text": PAIN, "entities": entities})
    assert _keys(corpus) == keys
    (problem,) = corpus.problems
    assert problem.kept
    assert message in problem.what


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{broken", "not valid JSON"),
        ("[1, 2]", "not a JSON object"),
        ('"text"', "not a JSON object"),
        ("[" * 100_000, "too deep"),
        ('{"text": ' + "9" * 5000 + "}", "too deep or too large"),
        ('{"words": ["a"]}', 'expected "text"'),
        ('{"text": 3}', 'expected "text"'),
        ('{"tokens": ["a", 3]}', 'expected "text"'),
        ('{"tokens": ["a", ""]}', "word 1 is empty"),
        ('{"text": "a", "tokens": ["a"]}', "unclear"),
        ('{"text": "a\\ud800"}', "lone surrogate"),
        ('{"tokens": ["a", "\\udfff"]}', "lone surrogate"),
        ('{"text": "a", "words": [[0, 9]]}', "outside the text"),
    ],
)
def test_a_bad_line_is_dropped_and_the_rest_read(tmp_path: Path, line: str, message: str) -> None:
    corpus = _read(tmp_path, {"text": "before"}, "", line, {"text": "after"})
    assert [document.text for document in corpus] == ["before", "after"]
    (problem,) = corpus.problems
    assert (problem.line, problem.kept) == (3, False)
    assert message in problem.what


@pytest.mark.parametrize("key", ["id", "doc", "sentence", "labels", "before", "coverage"])
def test_a_bad_optional_key_is_left_out_and_reported(tmp_path: Path, key: str) -> None:
    corpus = _read(tmp_path, {"text": "a", "entities": [], key: {"no": "good"}})
    assert corpus.documents == (Document("a"),)
    (problem,) = corpus.problems
    assert problem.kept
    assert f'"{key}"' in problem.what


def test_entities_that_are_not_a_list(tmp_path: Path) -> None:
    corpus = _read(tmp_path, {"text": "a", "entities": {"x": 1}})
    assert len(corpus) == 1
    assert "not a list" in corpus.problems[0].what


def test_token_form_does_not_guess_whether_an_end_is_included(tmp_path: Path) -> None:
    corpus = _read(tmp_path, {"tokens": ["a", "b"], "entities": [[0, 1, "X"]]})
    assert corpus.documents[0].entities == ()
    assert not corpus.problems[0].kept


@pytest.mark.parametrize(
    "line",
    [
        {"text": "Aspirin helps", "ner_tags": ["B-Drug", "O"]},
        {"text": "Aspirin helps", "ents": [[0, 7, "Drug"]]},
        {"text": "Aspirin helps", "entities": [], "spans": [{"start": 0, "end": 7, "label": "Drug"}]},
    ],
)
def test_annotation_that_is_not_read_is_reported(tmp_path: Path, line: dict[str, object]) -> None:
    corpus = _read(tmp_path, line)
    assert [document.entities for document in corpus] == [()]
    (problem,) = corpus.problems
    assert not problem.kept and 'is not read: entities are looked for under "entities"' in problem.what


@pytest.mark.parametrize("form", ["jsonl", "jsonl-tokens"])
def test_deeply_nested_entities_are_written_one_by_one(tmp_path: Path, form: str) -> None:
    words = ["word"] * 2000
    entities = [Entity("X", ((first, 2000 - first),)) for first in range(1000)]
    document = Document.from_words(words, entities)
    tracemalloc.start()
    write([document], tmp_path / "nested.jsonl", form)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "nested.jsonl").stat().st_size > 5_000_000 > 2 * peak
    (again,) = read(tmp_path / "nested.jsonl").documents
    assert again.entities == document.entities


def test_what_looks_like_the_entities_of_a_line_stays_text(tmp_path: Path) -> None:
    document = Document('"entities": [] and "entities": [', (Entity('"entities": []', ((0, 3),)),), id='"entities": []')
    write([document], tmp_path / "odd.jsonl", "jsonl")
    assert read(tmp_path / "odd.jsonl").documents == (document,)


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    "item",
    [
        {"text": "Pain now", "entities": [{"label": "ADR", "fragments": [[0, 4]]}]},
        {"text": "Pain now", "label": [[0, 4, "ADR"]]},
        ["Pain now", {"entities": [[0, 4, "ADR"]]}],
    ],
)
def test_a_list_of_documents(tmp_path: Path, item: object, indent: int | None) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([item, item, 5], indent=indent))
    corpus = read(path)
    assert [[(entity.label, entity.text) for entity in document.entities] for document in corpus] == [[("ADR", "Pain")]] * 2
    (problem,) = corpus.problems
    assert problem.what == "not a JSON object: 5" and (problem.line > 1) == bool(indent)
