from __future__ import annotations

from pathlib import Path

import pytest

from anyner.corpora.reading import read
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError

FILES = Path(__file__).parent.parent / "files"


def test_a_file_of_bconv() -> None:
    corpus = read(FILES / "pubtator.txt")
    (document,) = corpus
    assert (document.id, document.text) == ("7", "😀 Zoë Alden took Cryoprin in Kelford.\nZoë is well.")
    assert [entity.text for entity in document.entities] == ["Zoë Alden", "Zoë", "Cryoprin", "Kelford", "Zoë"]
    assert [problem.what for problem in corpus.problems] == ["identifiers of entities are not read: 5 skipped"]


def test_relations_malformed_lines_and_wrong_copies_are_reported(tmp_path: Path) -> None:
    lines = ["1|t|Pain now", "1|a|", "1\t0\t4\thip\tADR\t-", "1\tCID\tD1\tD2", "1\tx", "", "2|t|B", "2|a|C", "2\t2\t3\tC\tX"]
    (tmp_path / "x").write_text("\n".join(lines))
    corpus = read(tmp_path / "x")
    assert [(document.text, len(document.entities)) for document in corpus] == [("Pain now", 1), ("B\nC", 1)]
    assert sorted((problem.line, problem.what.split(":")[0]) for problem in corpus.problems) == [
        (3, "entity 'ADR'"), (4, "relations are not read"), (5, "malformed line '1\\tx'")
    ]  # fmt: skip


def test_one_line_break_separates_title_and_abstract(tmp_path: Path) -> None:
    document = Document("Pain\nin hip", (Entity("ADR", ((0, 7),)),), id="a b")
    write([document], tmp_path / "x", "pubtator")
    assert (tmp_path / "x").read_text() == "1|t|Pain\n1|a|in hip\n1\t0\t7\tPain in\tADR\n\n"
    assert read(tmp_path / "x").documents[0].entities == document.entities
    for text in ("a\nb\nc", "a\n", "a\rb"):
        with pytest.raises(AnynerError, match="cannot hold document 1: its text"):
            write([Document(text)], tmp_path / "x", "pubtator")
