from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from anyner.corpora import corpus
from anyner.corpora.reading import FORMATS, format_named, read
from anyner.corpora.writing import left_out, write
from anyner.document import Document, Entity
from anyner.errors import AnynerError

DOCUMENT = Document.from_words(["Pain", "now"], [Entity("ADR", ((0, 1),))], id="a")
INSTALLED = [one for one in FORMATS if not one.needs or find_spec(one.needs)]
_IN_WORDS = {"jsonl-tokens", "conll", "spans", "w2ner", "dai", "gliner", "parquet-tags"}
WORD_FORMATS = [one.name for one in INSTALLED if one.name in _IN_WORDS]


@pytest.mark.parametrize(("file", "name"), [("a.jsonl.gz", "jsonl"), ("a.BIO", "conll"), ("a.parquet", "parquet")])
def test_the_extension_selects_the_format(file: str, name: str, tmp_path: Path) -> None:
    write([DOCUMENT], tmp_path / file)
    write([DOCUMENT], tmp_path / f"named-{file}", name)
    assert (tmp_path / file).read_bytes() == (tmp_path / f"named-{file}").read_bytes()


def test_an_extension_of_several_formats_needs_a_format(tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match=r"a\.json: cannot tell the format from the file name: add format=…, one of jsonl, "):
        write([DOCUMENT], tmp_path / "a.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
@pytest.mark.parametrize("name", [one.name for one in INSTALLED if not one.writes_folder])
def test_the_same_documents_give_the_same_bytes(tmp_path: Path, name: str, ending: str) -> None:
    for file in ("a", "b"):
        write([DOCUMENT], tmp_path / (file + ending), name)
    assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()
    assert read(tmp_path / f"a{ending}").documents[0].entities == DOCUMENT.entities


def test_packing_follows_the_name(tmp_path: Path) -> None:
    write([DOCUMENT], tmp_path / "a.gz", "jsonl")
    write([DOCUMENT], tmp_path / "a.xz", "jsonl")
    assert (tmp_path / "a.gz").read_bytes()[:8] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00"  # neither name nor time
    assert (tmp_path / "a.xz").read_bytes()[1:5] == b"7zXZ"


@pytest.mark.parametrize("name", [one.name for one in INSTALLED])
def test_a_failure_in_the_middle_leaves_nothing_new(tmp_path: Path, name: str) -> None:
    def documents() -> Iterator[Document]:
        yield DOCUMENT
        raise RuntimeError("the source broke")

    target = tmp_path / "out"
    is_folder = format_named(name).writes_folder
    if not is_folder:
        target.write_text("old")
    with pytest.raises(RuntimeError):
        write(documents(), target, name)
    assert [path.read_text() for path in tmp_path.iterdir()] == ([] if is_folder else ["old"])


@pytest.mark.parametrize("name", WORD_FORMATS)
def test_raw_text_becomes_white_space_words_where_that_is_exact(tmp_path: Path, name: str) -> None:
    write([Document("Pain now", (Entity("ADR", ((0, 4),)),))], tmp_path / "x", name)
    (back,) = read(tmp_path / "x", name)
    assert (back.text, back.words, back.entities) == (DOCUMENT.text, DOCUMENT.words, DOCUMENT.entities)


@pytest.mark.parametrize("name", WORD_FORMATS)
def test_other_spacing_and_half_words_are_lost_and_reported(tmp_path: Path, name: str) -> None:
    document = Document("Pain  now", (Entity("ADR", ((0, 4),)), Entity("HALF", ((6, 8),))))
    with pytest.raises(AnynerError, match="not its words joined by single spaces"):
        write([document], tmp_path / "x", name)
    spacing, half = write([DOCUMENT, document], tmp_path / "x", name, lossy=True)
    assert (spacing.line, spacing.kept, half.line, half.kept) == (2, True, 2, False)
    assert "'HALF' 'no': it does not sit on word boundaries" in half.what
    back = read(tmp_path / "x", name).documents[1]
    assert (back.text, [entity.label for entity in back.entities]) == ("Pain now", ["ADR"])


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("conll", "a\nb"),
        ("conll", "a\tb"),
        ("conll", "\r"),
        ("conll", " a"),
        ("conll", "-DOCSTART-"),
        ("dai", "a b"),
        ("dai", "a\n"),
    ],
)
def test_words_that_a_line_format_cannot_hold(tmp_path: Path, name: str, word: str) -> None:
    documents = [DOCUMENT, Document.from_words(["x", word])]
    with pytest.raises(AnynerError, match="cannot hold document 2: word"):
        write(documents, tmp_path / "x", name)
    (lost,) = write(documents, tmp_path / "x", name, lossy=True)
    assert (lost.line, lost.kept) == (2, False)
    assert len(read(tmp_path / "x", name)) == 1


@pytest.mark.parametrize("word", ["\x85", "\u2028", "\x1c", "\x0b", "\ufeffa", "\x00", "a\u3000b", "#", "😀", "שלום"])
@pytest.mark.parametrize("name", WORD_FORMATS)
def test_words_that_every_format_holds(tmp_path: Path, name: str, word: str) -> None:
    document = Document.from_words([word, "x"], [Entity("X", ((0, 1),))])
    assert write([document], tmp_path / "x", name) == ()
    (back,) = read(tmp_path / "x", name)
    assert (back.text, back.words, back.entities) == (document.text, document.words, document.entities)


def test_a_lone_surrogate_outside_the_text(tmp_path: Path) -> None:
    document = Document("a", (Entity("\ud800", ((0, 1),)),))
    with pytest.raises(AnynerError, match="lone surrogate") as caught:
        write([document], tmp_path / "x", "jsonl")
    str(caught.value).encode()


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(AnynerError, match="not a file"):
        write([DOCUMENT], tmp_path, "jsonl")
    with pytest.raises(AnynerError, match="cannot be written"):
        write([DOCUMENT], tmp_path / "file" / "x.jsonl", "jsonl")
    with pytest.raises(AnynerError, match="unknown format 'xml'"):
        write([DOCUMENT], tmp_path / "x", "xml")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_new_folders_are_made_and_the_file_has_ordinary_rights(tmp_path: Path) -> None:
    write([DOCUMENT], tmp_path / "new" / "x.jsonl", "jsonl")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new" / "x.jsonl").stat().st_mode) == 0o666 & ~mask


def test_what_a_format_has_no_place_for_is_counted() -> None:
    scored = Document("Pain now", (Entity("ADR", ((0, 4),), 0.5),), id="b", doc="d", before="So .")
    assert left_out([DOCUMENT, scored], format_named("label-studio")) == {"words": 1, "doc": 1, "context": 1}
    assert left_out([Document("Pain", meta={"patient": 7})], format_named("parquet")) == {"meta": 1}
    assert left_out([DOCUMENT, scored], format_named("webanno")) == {"ids": 2, "scores": 1, "words": 1, "doc": 1, "context": 1}
    assert left_out([DOCUMENT, scored], format_named("jsonl")) == {}


def test_a_format_whose_package_is_missing_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "find_spec", lambda _: None)
    (tmp_path / "x").write_bytes(b"PAR1")
    for name, extra in (("spacy", "spacy"), ("parquet", "parquet"), ("datasets", "parquet")):
        for attempt in (lambda name=name: write([DOCUMENT], tmp_path / "y", name), lambda name=name: read(tmp_path / "x", name)):
            with pytest.raises(
                AnynerError, match=rf"^format {name} needs \w+, which is not installed: pip install 'anyner\[{extra}\]'$"
            ):
                attempt()
    assert not (tmp_path / "y").exists()
