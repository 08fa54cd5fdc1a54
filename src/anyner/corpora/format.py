"""What a corpus format is: a name, a reader, a writer, and an honest word about what it can hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from anyner.corpora.corpus import Corpus
from anyner.document import Document


@dataclass(frozen=True, slots=True)
class Loss:
    """Something a format cannot express; `kept` when the entities survive and only their surroundings change."""

    what: str
    kept: bool


@dataclass(frozen=True, slots=True)
class Fit:
    """A document cut to what a format can hold (None: nothing of it), and what that loses."""

    document: Document | None
    lost: tuple[Loss, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """One way to keep a corpus on disk."""

    name: str
    description: str
    read: Callable[[Path], Corpus]
    write: Callable[[Iterable[Document], Path], None]
    """Writes documents that fit; all of them or nothing."""
    fit: Callable[[Document], Fit]
    recognises: Callable[[Path, str], bool]
    """Whether a path with this beginning of text (empty for a folder) looks like the format."""

    def cannot_hold(self, document: Document) -> str | None:
        """Why this format cannot hold the document, or None when it can."""
        lost = self.fit(document).lost
        return lost[0].what if lost else None
