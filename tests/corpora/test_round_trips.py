"""read(write(x)) = x for every format that can hold x; what it cannot hold is refused or reported."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest
from drawn_documents import any_documents, tame_documents
from hypothesis import given
from hypothesis import strategies as st

from anyner.corpora.corpus import EVERYTHING, Format, Problem, ProblemLog
from anyner.corpora.reading import FORMATS, format_named, read, recognised
from anyner.corpora.writing import write
from anyner.document import Document, Entity
from anyner.errors import AnynerError

INSTALLED = [one for one in FORMATS if not one.needs or find_spec(one.needs)]
"""Drawing documents takes far longer than writing them, so every test draws once and tries all formats."""
RENAMED = {"conll", "brat", "pubtator", "azure"}
"""Formats that keep names only where they fit."""


def _annotation(document: Document) -> object:
    return document.text, [entity.key for entity in document.entities]


def _assert_same(given_: Document, back: Document, one: Format) -> None:
    assert _annotation(back) == _annotation(given_), one.name
    if "words" in one.keeps and given_.words is not None:
        assert back.words == given_.words, one.name
    if "scores" in one.keeps:
        assert [entity.score for entity in back.entities] == [entity.score for entity in given_.entities], one.name
    if "ids" in one.keeps and given_.id and one.name not in RENAMED:
        assert back.id == given_.id, one.name
    if one.keeps == EVERYTHING and (one.name != "jsonl-tokens" or given_.words is not None):
        assert back == given_, one.name
        assert (back.before, back.after, back.coverage) == (given_.before, given_.after, given_.coverage)


def _fitted(one: Format, document: Document) -> tuple[Document | None, list[Problem]]:
    """What the format can hold of the document, and what that loses."""
    log = ProblemLog()
    fitted = None
    with log.dropping(0):
        fitted = one.fit(document, log)
    return fitted, log.found


@given(documents=st.lists(any_documents(), max_size=4))
def test_what_a_format_can_hold_comes_back_equal(documents: list[Document]) -> None:
    for one in INSTALLED:
        held = [document for document in documents if not _fitted(one, document)[1]]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "corpus"
            assert write(held, path, one.name) == (), one.name
            assert not held or not one.signature or recognised(path) is one
            back = read(path, one.name)
            assert back.problems == (), one.name
            assert len(back) == len(held), one.name
            for before, after in zip(held, back, strict=True):
                _assert_same(before, after, one)


@given(document=any_documents())
def test_what_a_format_cannot_hold_is_refused_or_reported(document: Document) -> None:
    for one in INSTALLED:
        fit, losses = _fitted(one, document)
        if losses:
            with tempfile.TemporaryDirectory() as folder:
                _assert_refused_or_reported(document, fit, losses[0].what, one, Path(folder))


def _assert_refused_or_reported(document: Document, fit: Document | None, why: str, one: Format, folder: Path) -> None:
    path = folder / "corpus"
    with pytest.raises(AnynerError) as refused:
        write([document], path, one.name)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)
    assert list(folder.iterdir()) == []
    lost = write([document], path, one.name, lossy=True)
    assert why in lost[0].what
    back = read(path, one.name)
    assert back.problems == (), one.name
    assert [_annotation(found) for found in back] == ([] if fit is None else [_annotation(fit)]), one.name
    if fit is not None:
        merged = sum("duplicate" in problem.what for problem in lost)
        gone = sum(not problem.kept for problem in lost)
        assert len(fit.entities) == len(document.entities) - gone - merged, one.name


@given(documents=st.lists(tame_documents("flat"), min_size=1, max_size=3))
def test_every_format_holds_plain_flat_documents_and_is_recognised(documents: list[Document]) -> None:
    for one in INSTALLED:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "corpus"
            assert write(documents, path, one.name) == (), one.name
            assert recognised(path).name == {"jsonl-tokens": "jsonl", "parquet-tags": "parquet"}.get(one.name, one.name)
            assert [_annotation(document) for document in read(path)] == [_annotation(document) for document in documents], (
                one.name
            )


@pytest.mark.parametrize("name", ["jsonl", "jsonl-tokens", "brat", "w2ner", "dai", "doccano-relations"])
@given(document=tame_documents("tame"))
def test_formats_of_any_shape_hold_nested_and_discontinuous(name: str, document: Document) -> None:
    assert not _fitted(format_named(name), document)[1]


@given(document=any_documents())
def test_text_jsonl_holds_every_document(document: Document) -> None:
    assert not _fitted(format_named("jsonl"), document)[1]


@given(documents=st.lists(tame_documents("flat"), min_size=1, max_size=3), data=st.data())
def test_a_damaged_file_gives_a_corpus_or_one_clear_line(documents: list[Document], data: st.DataObject) -> None:
    one = data.draw(st.sampled_from(INSTALLED))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus"
        write(documents, path, one.name)
        damaged = data.draw(st.sampled_from(sorted(path.iterdir()))) if path.is_dir() else path
        content = damaged.read_bytes()
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 12)))
        noise = data.draw(st.one_of(st.binary(max_size=3), st.sampled_from([b"\n", b"-1", b"99", b'"', b"\t", b"[", b"\\ud800"])))
        damaged.write_bytes(content[:start] + noise + content[end:])
        try:
            corpus = read(path, one.name)
        except AnynerError as error:
            assert "\n" not in str(error)
            assert str(folder) in str(error)
        else:
            assert all(problem.line >= 1 and "\n" not in str(problem) for problem in corpus.problems)


def test_a_corpus_goes_through_all_formats_one_after_the_other(tmp_path: Path) -> None:
    first = Document.from_words(["Zoë", "😀", "took", "Cryoprin", "."], [Entity("Person", ((0, 2),)), Entity("Drug", ((3, 4),))])
    documents: Iterable[Document] = [first, Document.from_words(["No", "."])]
    for one in INSTALLED:
        assert write(documents, tmp_path / one.name, one.name) == (), one.name
        documents = read(tmp_path / one.name).documents
        assert [_annotation(document) for document in documents] == [_annotation(first), ("No .", [])], one.name
