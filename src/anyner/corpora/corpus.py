"""What a reader gives back: documents, and the problems it met, so that nothing is lost silently."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anyner.document import Document


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that is not as it should be: where, what, and whether the data was kept (perhaps mended) or dropped."""

    file: str
    line: int
    what: str
    kept: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what} ({'kept' if self.kept else 'dropped'})"


@dataclass(frozen=True, slots=True)
class Corpus:
    """A set of documents with the problems met while reading it."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...] = ()

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label that occurs or is said to be annotated, sorted."""
        found = {entity.label for document in self.documents for entity in document.entities}
        found.update(label for document in self.documents for label in document.labels or ())
        return tuple(sorted(found))
