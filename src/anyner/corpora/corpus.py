"""What a corpus is (documents and the problems met in reading them) and what a corpus format is (a reader and a writer)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from anyner.document import Document


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a file: where, what, and whether the data was kept (perhaps repaired) or dropped."""

    file: str
    line: int
    what: str
    kept: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what} ({'kept' if self.kept else 'dropped'})"


@dataclass(frozen=True, slots=True)
class ProblemGroup:
    """Lines of one file with the same problem: the first of them, and how many there are."""

    first: Problem
    count: int

    def __str__(self) -> str:
        return f"{self.first}, and {self.count - 1:,} more like it" if self.count > 1 else str(self.first)


def grouped(problems: Iterable[Problem]) -> list[ProblemGroup]:
    """Groups of problems that differ only in their line, in the order of their first lines.

    A file may have thousands of rejected records: one by one they would hide every other problem.
    """
    first: dict[tuple[str, str, bool], Problem] = {}
    counts: Counter[tuple[str, str, bool]] = Counter()
    for problem in problems:
        key = (problem.file, problem.what, problem.kept)
        first.setdefault(key, problem)
        counts[key] += 1
    return [ProblemGroup(problem, counts[key]) for key, problem in first.items()]


def summary(problems: Sequence[Problem], shown: int = 1) -> str:
    """One line: how many problems there are, and the first `shown` groups, dropped data first. Empty without problems."""
    if not problems:
        return ""
    groups = sorted(grouped(problems), key=lambda group: group.first.kept)
    dropped = sum(not problem.kept for problem in problems)
    noun = "problem" if len(problems) == 1 else "problems"
    rest = len(problems) - sum(group.count for group in groups[:shown])
    listed = [*map(str, groups[:shown]), *([f"and {rest:,} more: anyner inspect lists them"] if rest else [])]
    return f"{len(problems):,} {noun} in the files ({dropped:,} dropped): {'; '.join(listed)}"


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
