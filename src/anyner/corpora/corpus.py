"""What a corpus is (documents and the problems met in reading them) and what a corpus format is (a reader and a writer)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

from anyner.corpora.textfiles import Position
from anyner.document import Document
from anyner.errors import AnynerError, InvalidInputError


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
    alike: dict[tuple[str, str, bool], list[Problem]] = {}
    for problem in problems:
        alike.setdefault((problem.file, problem.what, problem.kept), []).append(problem)
    return [ProblemGroup(group[0], len(group)) for group in alike.values()]


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


class ProblemLog:
    """Collects the problems of one file in the order they are met."""

    def __init__(self, path: Path | str = "") -> None:
        self.file = str(path)
        self.found: list[Problem] = []

    def kept(self, line: int, what: str) -> None:
        self.found.append(Problem(self.file, line, what, kept=True))

    def dropped(self, line: int, what: str) -> None:
        self.found.append(Problem(self.file, line, what, kept=False))

    @contextmanager
    def dropping(self, line: int) -> Iterator[None]:
        """Text or annotation in here that cannot be represented is dropped, with the line it begins on."""
        try:
            yield
        except InvalidInputError as error:
            self.dropped(line, str(error))


Extra = Literal["ids", "scores", "words", "doc", "labels", "context", "meta"]
"""What documents may have beside text and entities."""
_EXTRAS = {"pyarrow": "parquet", "spacy": "spacy"}
EVERYTHING: frozenset[Extra] = frozenset(get_args(Extra))


@dataclass(frozen=True, slots=True)
class Format:
    """One way to keep a corpus on disk."""

    name: str
    documents: Callable[[Path, ProblemLog], Iterable[Document]]
    """Reads the documents of a path; what is wrong with them goes into the log."""
    write: Callable[[Iterable[Document], Path], None]
    """Writes documents that fit; all of them or nothing."""
    fit: Callable[[Document, ProblemLog], Document]
    """The document cut to what the format can hold; an `InvalidInputError` when that is nothing. What is lost goes into the log,
    as kept when the entities survive and only their surroundings change."""
    recognises: Callable[[Path, str], bool]
    """Whether a path with this beginning of text (empty for a folder) looks like the format."""
    keeps: frozenset[Extra] = frozenset()
    """What it has a place for beside text and entities. The rest is left out in writing, which counts as no loss."""
    signature: bool = False
    """Whether `recognises` is sure: then no format without a signature is asked."""
    needs: str = ""
    """The package that it is read and written with, where that is not always installed."""
    reads_folders: bool = False
    writes_folder: bool = False
    texts: Callable[[Path, ProblemLog, Position], Iterator[Document]] | None = None
    """Reads documents without their entities one by one, if the whole need not be in memory for that."""

    def check_installed(self) -> None:
        """Refuses a format whose package is missing."""
        if self.needs and find_spec(self.needs) is None:
            raise AnynerError(f"format {self.name} needs {self.needs}: pip install 'anyner[{_EXTRAS[self.needs]}]'")

    def read(self, path: Path) -> Corpus:
        self.check_installed()
        log = ProblemLog(path)
        documents = tuple(self.documents(path, log))
        return Corpus(documents, tuple(log.found))
