"""Documents in chunks: what one process predicts at a time and writes to one part of the output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from anyner.corpora.source_documents import neighbours_attached
from anyner.document import Document
from anyner.inference.streaming import mostly_unknown

if TYPE_CHECKING:
    import pyarrow as pa

MOST_DOCUMENTS, MOST_CHARACTERS = 1000, 1_000_000
"""Maximum size of a chunk. A larger document is a chunk of its own."""


@dataclass(frozen=True, slots=True)
class Chunk:
    documents: tuple[Document, ...]
    rows: pa.RecordBatch | None = None
    """The table rows that the documents were read from."""


@dataclass(frozen=True, slots=True)
class Done:
    """The counts of predicted documents."""

    documents: int
    short: int = 0
    """Documents with words that were not read whole."""
    unknown: int = 0
    """Documents most of whose words are not in the vocabulary."""
    coverage: float = 1.0
    """Lowest coverage of any document."""

    @classmethod
    def of(cls, document: Document) -> Done:
        return cls(1, int(document.coverage < 1), int(mostly_unknown(document)), document.coverage)

    def __add__(self, other: Done) -> Done:
        least = min(self.coverage, other.coverage)
        return Done(self.documents + other.documents, self.short + other.short, self.unknown + other.unknown, least)


def chunks_of(documents: Iterable[Document]) -> Iterator[Chunk]:
    """The documents in order. Chunk boundaries depend only on the documents."""
    held: list[Document] = []
    characters = 0
    for document in documents:
        if held and (len(held) == MOST_DOCUMENTS or characters + len(document.text) > MOST_CHARACTERS):
            yield Chunk(tuple(held))
            held, characters = [], 0
        held.append(document)
        characters += len(document.text)
    if held:
        yield Chunk(tuple(held))


def with_context(chunks: Iterable[Chunk], sentences: int) -> Iterator[Chunk]:
    """The chunks, with neighbouring sentences from the same, the previous and the next chunk attached to their documents."""
    if not sentences:
        yield from chunks
        return
    before: tuple[Document, ...] = ()
    for chunk, following in pairwise(chain(chunks, [Chunk(())])):
        pool = (*before, *following.documents)
        yield Chunk(neighbours_attached(chunk.documents, sentences, pool), chunk.rows)
        before = chunk.documents
