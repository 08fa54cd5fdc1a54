"""Neighbouring sentences as context, found by the `doc` and `sentence` of the documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from anyner.document import Document
from anyner.errors import AnynerError


def neighbours_attached(documents: Sequence[Document], sentences: int, pool: Sequence[Document] = ()) -> tuple[Document, ...]:
    """The documents with up to `sentences` neighbours each side as `before` and `after`.

    Neighbours have the same `doc` and follow each other without a gap; they are looked up in the documents and the pool.
    A document that has context already, or no `doc` and `sentence`, stays as it is.
    """
    if sentences < 0:
        raise AnynerError(f"the number of neighbouring sentences cannot be negative, got {sentences}")
    texts = {(one.doc, one.sentence): one.text for one in (*pool, *documents)}
    return tuple(_with_neighbours(document, sentences, texts) for document in documents)


def _with_neighbours(document: Document, sentences: int, texts: dict[tuple[str | None, int | None], str]) -> Document:
    if document.doc is None or document.sentence is None or document.before or document.after:
        return document
    place = document.sentence
    before = _run(document.doc, range(place - 1, place - 1 - sentences, -1), texts)
    after = _run(document.doc, range(place + 1, place + 1 + sentences), texts)
    if not before and not after:
        return document
    return replace(document, before=" ".join(reversed(before)), after=" ".join(after))


def _run(doc: str, places: Iterable[int], texts: dict[tuple[str | None, int | None], str]) -> list[str]:
    found: list[str] = []
    for place in places:
        text = texts.get((doc, place))
        if text is None:
            break
        found.append(text)
    return found
