"""Part-of-speech tags in the formats that have a place for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anyner.corpora.corpus import Corpus
from anyner.corpora.reading import read
from anyner.corpora.writing import write
from anyner.document import Document, Entity

WORDS, TAGS = ["Kofi", "Annan", "spoke"], ("NNP", "NNP", "VBD")
DOCUMENT = Document.from_words(WORDS, [Entity("PER", ((0, 2),))], pos=TAGS)
WRONG = [["NNP"], ["NNP", "NNP", ""], ["NNP", "NNP", 7], ["NNP", "NNP", None], "NNP", {"a": 1}, 3, ["a", "b", "\ud800"]]


def _read(tmp_path: Path, text: str, name: str) -> Corpus:
    path = tmp_path / "corpus"
    path.write_bytes(text.encode())
    return read(path, name)


@pytest.mark.parametrize("name", ["jsonl", "jsonl-tokens", "spans", "conll"])
def test_tags_are_written_and_read(tmp_path: Path, name: str) -> None:
    without = Document.from_words(WORDS)
    assert write([DOCUMENT, without], tmp_path / "c", name) == ()
    corpus = read(tmp_path / "c", name)
    assert [document.pos for document in corpus] == [TAGS, None]
    assert corpus.problems == ()


@pytest.mark.parametrize("name", ["w2ner", "dai", "brat"])
def test_where_there_is_no_place_for_tags_they_are_no_loss(tmp_path: Path, name: str) -> None:
    assert write([DOCUMENT], tmp_path / "c", name) == ()
    assert [document.pos for document in read(tmp_path / "c", name)] == [None]


@pytest.mark.parametrize("wrong", WRONG, ids=ascii)
@pytest.mark.parametrize(
    ("name", "item"),
    [
        ("jsonl", {"text": "Kofi Annan spoke", "words": [[0, 4], [5, 10], [11, 16]]}),
        ("jsonl", {"text": "Kofi Annan spoke"}),
        ("jsonl", {"tokens": WORDS}),
        ("spans", {"tokens": WORDS, "entities": []}),
    ],
)
def test_wrong_tags_are_a_problem_and_the_document_stays(tmp_path: Path, name: str, item: dict[str, Any], wrong: object) -> None:
    line = json.dumps(item | {"pos": wrong})
    corpus = _read(tmp_path, line if name == "jsonl" else f"[{line}]", name)
    assert [(document.text, document.pos) for document in corpus] == [("Kofi Annan spoke", None)]
    (problem,) = corpus.problems
    assert problem.kept
    assert '"pos"' in str(problem)
    assert "\n" not in str(problem)
    str(problem).encode()


def test_tags_without_given_words_are_a_problem(tmp_path: Path) -> None:
    corpus = _read(tmp_path, json.dumps({"text": "Kofi", "pos": ["NNP"]}), "jsonl")
    assert corpus.documents[0].pos is None
    assert "without given words" in corpus.problems[0].what


def test_four_columns_have_the_part_of_speech_in_the_second(tmp_path: Path) -> None:
    corpus = _read(tmp_path, "-DOCSTART- -X- -X- O\n\nKofi NNP B-NP B-PER\nspoke VBD B-VP O\n", "conll")
    assert [(document.text, document.pos) for document in corpus] == [("Kofi spoke", ("NNP", "VBD"))]
    assert corpus.problems == ()


@pytest.mark.parametrize("columns", ["Kofi NNP O\n", "Kofi O\n", "Kofi _ _ O\n", "Kofi NNP B-NP x O\n"])
def test_other_columns_are_not_taken_for_it(tmp_path: Path, columns: str) -> None:
    corpus = _read(tmp_path, columns, "conll")
    assert [document.pos for document in corpus] == [None]
    assert corpus.problems == ()


def test_a_sentence_with_some_tags_missing_keeps_none(tmp_path: Path) -> None:
    corpus = _read(tmp_path, "Kofi NNP B-NP B-PER\nspoke O\n\nYes UH B-INTJ O\n", "conll")
    assert [document.pos for document in corpus] == [None, ("UH",)]
    (problem,) = corpus.problems
    assert (problem.line, problem.kept) == (2, True)
    assert "'spoke' has no part of speech" in problem.what
