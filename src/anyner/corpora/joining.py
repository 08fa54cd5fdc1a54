"""Sentences joined into the text that they were taken from, and separated again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from anyner.document import Document, Entity
from anyner.fragments import shifted


def joined(documents: Sequence[Document], separator: str = " ") -> Document:
    """One document made of several, with the separator between their texts. It has words if all of them have.

    >>> parts = [Document("In Rome."), Document("In Bari.", (Entity("LOC", ((3, 7),)),))]
    >>> joined(parts).entities[0].fragments
    ((12, 16),)
    """
    if len(documents) == 1:
        return documents[0]
    placed = list(zip(documents, _shifts(documents, separator), strict=True))
    words = tuple(word for one, shift in placed for word in shifted(one.words or (), shift))
    return Document(
        separator.join(one.text for one in documents),
        tuple(Entity(e.label, shifted(e.fragments, shift), e.score) for one, shift in placed for e in one.entities),
        id=documents[0].id,
        words=words if all(one.words is not None for one in documents) else None,
        labels=documents[0].labels,
        doc=documents[0].doc,
        before=documents[0].before,
        after=documents[-1].after,
    )


def parted(whole: Document, documents: Sequence[Document], separator: str = " ") -> Iterator[Document]:
    """The documents that `whole` was joined from, with its entities; an entity across a boundary is dropped."""
    for one, shift in zip(documents, _shifts(documents, separator), strict=True):
        inside = (entity for entity in whole.entities if shift <= entity.start and entity.end <= shift + len(one.text))
        yield one.with_entities(Entity(e.label, shifted(e.fragments, -shift), e.score) for e in inside)


def _shifts(documents: Sequence[Document], separator: str) -> list[int]:
    """Offset of each document in the joined text."""
    return list(accumulate((len(one.text) + len(separator) for one in documents[:-1]), initial=0))


def source_documents(documents: Iterable[Document], most: int) -> Iterator[list[Document]]:
    """Groups of consecutive documents with the same `doc` and the same annotated labels.

    Without a `doc`, a group has at most `most` documents.
    """
    held: list[Document] = []
    for document in documents:
        same = bool(held) and (document.doc, document.labels) == (held[-1].doc, held[-1].labels)
        if held and (not same or (document.doc is None and len(held) == most)):
            yield held
            held = []
        held.append(document)
    if held:
        yield held
