from __future__ import annotations

from pathlib import Path

import pytest

from anyner.corpora.corpus import Corpus
from anyner.corpora.reading import read
from anyner.corpora.writing import write
from anyner.document import Document, Entity

SENTENCE = "Pain in hip and knees"


def _read(tmp_path: Path, text: str) -> Corpus:
    path = tmp_path / "corpus.txt"
    path.write_bytes(text.encode())
    return read(path, "dai")


def _found(corpus: Corpus) -> list[tuple[str, str]]:
    return [(entity.label, entity.text) for document in corpus for entity in document.entities]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_inclusive_pairs_and_empty_entity_lines(tmp_path: Path, end: str) -> None:
    lines = [SENTENCE, "0,2 ADR|0,1,4,4 ADR", "", "No pain .", "", "", SENTENCE, "4,4 PART"]
    corpus = _read(tmp_path, end.join(lines))
    assert [document.text for document in corpus] == [SENTENCE, "No pain .", SENTENCE]
    assert _found(corpus) == [("ADR", "Pain in knees"), ("ADR", "Pain in hip"), ("PART", "knees")]
    assert corpus.problems == ()


@pytest.mark.parametrize("entity", ["3,1 X", "0,9 X", "0,1,1,2 X", "0 X", "0,1,2 X", "0,1", "X", "", "-1,0 X", "a,b X"])
def test_bad_entities_are_dropped_and_the_rest_kept(tmp_path: Path, entity: str) -> None:
    corpus = _read(tmp_path, f"ok\n\n\n{SENTENCE}\n{entity}|4,4 PART\n\n")
    assert _found(corpus) == [("PART", "knees")]
    assert [(problem.line, problem.kept) for problem in corpus.problems] == [(5, False)]


def test_blocks_of_the_wrong_length(tmp_path: Path) -> None:
    corpus = _read(tmp_path, f"one\n\n{SENTENCE}\n4,4 PART\n\nbad\n0,0 X\nmore\n\n\n\nlast\n0,0 Y\n")
    assert [document.text for document in corpus] == ["one", SENTENCE, "last"]
    assert _found(corpus) == [("PART", "knees"), ("Y", "last")]
    assert [(problem.line, problem.kept) for problem in corpus.problems] == [(2, True), (6, False)]


def test_two_blanks_in_a_row_would_shift_the_words(tmp_path: Path) -> None:
    corpus = _read(tmp_path, "a  b\n1,1 X\n\nc\n\n\n")
    assert [document.text for document in corpus] == ["c"]
    assert corpus.problems[0].line == 1


def test_written_form(tmp_path: Path) -> None:
    document = Document.from_words(SENTENCE.split(), [Entity("ADR", ((0, 2), (4, 5))), Entity("ADR", ((0, 3),))])
    write([document, Document.from_words(["ok"])], tmp_path / "c.txt", "dai")
    assert (tmp_path / "c.txt").read_text() == f"{SENTENCE}\n0,1,4,4 ADR|0,2 ADR\n\nok\n\n\n"
