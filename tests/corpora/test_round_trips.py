"""read(write(x)) = x for every format that can hold x; what it cannot hold is refused or told."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from drawn_documents import any_documents, tame_documents
from hypothesis import given, settings
from hypothesis import strategies as st

from anyner.corpora.corpus import Format, Problem, ProblemLog
from anyner.corpora.reading import FORMATS, format_named, read
from anyner.corpora.writing import write
from anyner.document import Document
from anyner.errors import AnynerError

ALL = pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.name)


def _annotation(document: Document) -> object:
    return document.text, [entity.key for entity in document.entities]


def _assert_same(given_: Document, back: Document, one: Format) -> None:
    assert _annotation(back) == _annotation(given_)
    if one.name != "brat" and given_.words is not None:
        assert back.words == given_.words
    if one.name == "jsonl" or (one.name == "jsonl-tokens" and given_.words is not None):
        assert back == given_
        assert (back.before, back.after, back.coverage) == (given_.before, given_.after, given_.coverage)


def _fitted(one: Format, document: Document) -> tuple[Document | None, list[Problem]]:
    """What the format can hold of the document, and what that loses."""
    log = ProblemLog()
    fitted = None
    with log.dropping(0):
        fitted = one.fit(document, log)
    return fitted, log.found


@ALL
@settings(max_examples=35, deadline=None)
@given(documents=st.lists(any_documents(), max_size=4))
def test_what_a_format_can_hold_comes_back_equal(one: Format, documents: list[Document]) -> None:
    held = [document for document in documents if not _fitted(one, document)[1]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus"
        assert write(held, path, one.name) == ()
        back = read(path, one.name)
        assert back.problems == ()
        assert len(back) == len(held)
        for before, after in zip(held, back, strict=True):
            _assert_same(before, after, one)


@ALL
@settings(max_examples=35, deadline=None)
@given(document=any_documents())
def test_what_a_format_cannot_hold_is_refused_or_told(one: Format, document: Document) -> None:
    fit, losses = _fitted(one, document)
    if not losses:
        return
    why = losses[0].what
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus"
        with pytest.raises(AnynerError) as refused:
            write([document], path, one.name)
        assert why in str(refused.value)
        assert "\n" not in str(refused.value)
        assert list(Path(folder).iterdir()) == []
        lost = write([document], path, one.name, lossy=True)
        assert why in lost[0].what
        back = read(path, one.name)
        assert back.problems == ()
        assert [_annotation(found) for found in back] == ([] if fit is None else [_annotation(fit)])
        if fit is not None:
            merged = sum("duplicate" in problem.what for problem in lost)
            gone = sum(not problem.kept for problem in lost)
            assert len(fit.entities) == len(document.entities) - gone - merged


@ALL
@settings(max_examples=20, deadline=None)
@given(documents=st.lists(tame_documents("flat"), min_size=1, max_size=3))
def test_every_format_holds_plain_flat_documents_and_is_recognised(one: Format, documents: list[Document]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus"
        assert write(documents, path, one.name) == ()
        assert [_annotation(document) for document in read(path)] == [_annotation(document) for document in documents]


@pytest.mark.parametrize("name", ["jsonl", "jsonl-tokens", "brat", "w2ner", "dai"])
@settings(max_examples=30, deadline=None)
@given(document=tame_documents("tame"))
def test_formats_of_any_shape_hold_nested_and_discontinuous(name: str, document: Document) -> None:
    assert not _fitted(format_named(name), document)[1]


@settings(max_examples=50, deadline=None)
@given(document=any_documents())
def test_text_jsonl_holds_every_document(document: Document) -> None:
    assert not _fitted(format_named("jsonl"), document)[1]


@ALL
@settings(max_examples=25, deadline=None)
@given(documents=st.lists(tame_documents("flat"), min_size=1, max_size=3), data=st.data())
def test_a_damaged_file_gives_a_corpus_or_one_clear_line(one: Format, documents: list[Document], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus"
        write(documents, path, one.name)
        damaged = next(path.glob("*.ann")) if path.is_dir() else path
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
