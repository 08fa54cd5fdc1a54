from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from anyner.corpora.corpus import Corpus
from anyner.corpora.reading import read
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError

TEXT = "Chest\npain and sore throat."


def _read(tmp_path: Path, ann: str, text: str = TEXT) -> Corpus:
    (tmp_path / "one.txt").write_bytes(text.encode())
    (tmp_path / "one.ann").write_bytes(ann.encode())
    return read(tmp_path)


def _keys(corpus: Corpus) -> list[object]:
    return [entity.key for document in corpus for entity in document.entities]


def test_discontinuous_and_line_breaks(tmp_path: Path) -> None:
    corpus = _read(
        tmp_path,
        "T1\tADR 0 5;6 10\tChest pain\nT2\tADR 0 10\tChest pain\nT3\tADR 0 5;15 19\tChest sore\nT4\tX 15 26\tsore throat\n",
    )
    assert set(_keys(corpus)) == {("ADR", ((0, 10),)), ("ADR", ((0, 5), (15, 19))), ("X", ((15, 26),))}
    (problem,) = corpus.problems  # T1 and T2 are the same entity: a line break makes no fragments
    assert (problem.line, problem.kept) == (2, True)
    assert "duplicate" in problem.what
    assert corpus.documents[0].id == "one"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("T2\tX 9 5\tsore", "reversed"),
        ("T2\tX 0 99\tsore", "out of range"),
        ("T2\tX -3 4\tsore", "out of range"),
        ("T2\tX 0 5;3 8\tsore", "overlaps"),
        ("T2\tX 0\tsore", "malformed"),
        ("T2\tX 0 a\tsore", "malformed"),
        ("T2\t 0 5\tChest", "malformed"),
        ("T2 X 0 5 Chest", "malformed"),
        ("T2\tX " + "9" * 5000 + " 5\tChest", "malformed"),
        ("?", "malformed"),
    ],
)
def test_bad_lines_are_dropped_and_the_rest_read(tmp_path: Path, line: str, message: str) -> None:
    corpus = _read(tmp_path, f"T1\tX 15 19\tsore\n\n{line}\n")
    assert _keys(corpus) == [("X", ((15, 19),))]
    (problem,) = corpus.problems
    assert problem.file.endswith("one.ann")
    assert (problem.line, problem.kept) == (3, False)
    assert message in problem.what


def test_a_copy_that_differs_is_kept_and_reported(tmp_path: Path) -> None:
    corpus = _read(tmp_path, "T1\tX 15 19\tsoar\n")
    assert _keys(corpus) == [("X", ((15, 19),))]
    assert corpus.problems[0].kept
    assert "'soar' differs from the text 'sore'" in corpus.problems[0].what


def test_other_kinds_of_lines_are_counted(tmp_path: Path) -> None:
    kinds = "#1\tNotes T1\tx\nR1\tR A:T1 B:T1\nR2\tR A:T1 B:T1\nA1\tNeg T1\nN1\tRef T1 W:1\nE1\tX:T1\n*\tEq T1 T1\n"
    corpus = _read(tmp_path, "T1\tX 15 19\tsore\n" + kinds)
    assert len(_keys(corpus)) == 1
    assert [(problem.line, problem.kept) for problem in corpus.problems] == [(n, False) for n in (2, 3, 5, 6, 7, 8)]
    assert "2 skipped" in corpus.problems[1].what


@pytest.mark.parametrize(
    ("text", "offsets", "expected"),
    [
        ("\ufeffsore throat", "0 4", "sore throat"),
        ("\ufeffsore throat", "1 5", "\ufeffsore throat"),
        ("A\r\nB\r\nsore", "6 10", "A\r\nB\r\nsore"),
        ("A\r\nB\r\nsore", "4 8", "A\nB\nsore"),
    ],
)
def test_offsets_decide_how_marks_and_line_ends_count(tmp_path: Path, text: str, offsets: str, expected: str) -> None:
    corpus = _read(tmp_path, f"T1\tX {offsets}\tsore\n", text)
    (document,) = corpus
    assert document.text == expected
    assert document.entities[0].text == "sore"
    other_way = expected != text.removeprefix("\ufeff")
    assert [(problem.kept, "offsets count" in problem.what) for problem in corpus.problems] == [(True, True)] * other_way


def test_half_a_pair(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alone")
    (tmp_path / "b.ann").write_text("T1\tX 0 1\tb\n")
    corpus = read(tmp_path)
    assert [document.text for document in corpus] == ["alone"]
    assert [(Path(p.file).name, p.kept) for p in corpus.problems] == [("a.ann", True), ("b.ann", False)]


def test_one_pair_by_either_file_and_natural_order(tmp_path: Path) -> None:
    for name in ("r10", "r9"):
        (tmp_path / f"{name}.txt").write_text(name)
        (tmp_path / f"{name}.ann").write_text("")
    assert [document.id for document in read(tmp_path)] == ["r9", "r10"]
    assert [document.id for document in read(tmp_path / "r9.txt")] == ["r9"]
    assert [document.id for document in read(tmp_path / "r10.ann")] == ["r10"]


def test_line_breaks_inside_a_span_are_written_as_brat_requires(tmp_path: Path) -> None:
    document = Document(TEXT, (Entity("ADR", ((0, 10),)),), "case.1")
    write([document], tmp_path / "out", "brat")
    assert (tmp_path / "out" / "case.1.ann").read_text() == "T1\tADR 0 5;6 10\tChest pain\n"
    assert read(tmp_path / "out").documents == (document,)


def test_ids_that_cannot_be_file_names_become_numbers(tmp_path: Path) -> None:
    documents = [Document(str(n), id=name) for n, name in enumerate(["../x", "b", "B"] + [""] * 9)]
    write(documents, tmp_path / "out", "brat")
    assert sorted(path.name for path in (tmp_path / "out").glob("*.txt"))[0] == "01.txt"
    assert [document.text for document in read(tmp_path / "out")] == [document.text for document in documents]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_a_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("mine")
    with pytest.raises(AnynerError, match="new or empty folder"):
        write([Document("a")], tmp_path, "brat")
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


def test_a_folder_in_a_folder_is_reported(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "sub"):
        folder.mkdir(exist_ok=True)
        (folder / "a.txt").write_text("Pain", encoding="utf-8")
        (folder / "a.ann").write_text("T1\tS 0 4\tPain\n", encoding="utf-8")
    corpus = read(tmp_path, "brat")
    assert len(corpus) == 1
    (problem,) = corpus.problems
    assert str(problem) == f"{tmp_path / 'sub'}: subfolders are not read: read each on its own (dropped)"


def test_deeply_nested_entities_are_written_one_by_one(tmp_path: Path) -> None:
    entities = [Entity("X", ((first, 10_000 - first),)) for first in range(1000)]
    tracemalloc.start()
    write([Document("a" * 10_000, tuple(entities))], tmp_path / "nested", "brat")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(file.stat().st_size for file in (tmp_path / "nested").iterdir()) > 8_000_000 > 4 * peak
