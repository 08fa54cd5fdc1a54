"""`Corpus`: documents and the problems found while reading them; `Format`: a reader and a writer of corpora."""

from __future__ import annotations

import re
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
    """0 if it is about the whole file or folder."""
    what: str
    kept: bool

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.what} ({'kept' if self.kept else 'dropped'})"


_VARIABLE = re.compile(r"""['"].{76}\.\.\.|'(?:[^'\\]|\\.)*'|"(?:[^"'\\]|\\.)*'(?:[^"\\]|\\.)*"|[\[(][][(),\d\s-]*[\])]|\d+""")
"""What differs between messages about the same thing: values as `shown` prints them, positions, numbers."""


@dataclass(frozen=True, slots=True)
class ProblemGroup:
    """Problems of one kind: the first one, how many there are, and in how many files."""

    first: Problem
    count: int
    files: int = 1

    @property
    def more(self) -> str:
        """What follows the first one."""
        where = f" in {self.files:,} files" if self.files > 1 else ""
        return f", and {self.count - 1:,} more like it{where}" if self.count > 1 else ""

    def __str__(self) -> str:
        return f"{self.first}{self.more}"


def grouped(problems: Iterable[Problem]) -> list[ProblemGroup]:
    """Groups of problems that differ only in their place and in the values that they show, in the order of their first lines.

    A corpus may have thousands of rejected records or of relations: one by one they would hide every other problem.
    """
    alike: dict[tuple[str, bool], list[Problem]] = {}
    for problem in problems:
        alike.setdefault((_VARIABLE.sub("_", problem.what), problem.kept), []).append(problem)
    return [ProblemGroup(group[0], len(group), len({problem.file for problem in group})) for group in alike.values()]


def counted(number: int, one: str, several: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "loss", "losses"), counted(1200, "document")
    ('1 loss', '1,200 documents')
    """
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def summary(problems: Sequence[Problem], shown: int = 1) -> str:
    """One line: how many problems there are, and the first `shown` groups, dropped data first. Empty without problems."""
    if not problems:
        return ""
    groups = sorted(grouped(problems), key=lambda group: group.first.kept)
    dropped = sum(not problem.kept for problem in problems)
    rest = len(problems) - sum(group.count for group in groups[:shown])
    listed = [*map(str, groups[:shown]), *([f"and {rest:,} more: anyner inspect lists them"] if rest else [])]
    return f"{counted(len(problems), 'problem')} in the files ({dropped:,} dropped): {'; '.join(listed)}"


@dataclass(frozen=True, slots=True)
class Corpus:
    """A set of documents with the problems found while reading it."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...] = ()

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label that occurs or is declared as annotated, sorted."""
        found = {entity.label for document in self.documents for entity in document.entities}
        found.update(label for document in self.documents for label in document.labels or ())
        return tuple(sorted(found))


class ProblemLog:
    """Collects the problems of one file in the order they are found."""

    def __init__(self, path: Path | str = "") -> None:
        self.file = str(path)
        self.found: list[Problem] = []

    def kept(self, line: int, what: str) -> None:
        self.found.append(Problem(self.file, line, what, kept=True))

    def dropped(self, line: int, what: str) -> None:
        self.found.append(Problem(self.file, line, what, kept=False))

    @contextmanager
    def dropping(self, line: int) -> Iterator[None]:
        """Turns an `InvalidInputError` in the block into a problem at this line: what was read there is dropped."""
        try:
            yield
        except InvalidInputError as error:
            self.dropped(line, str(error))


Extra = Literal["ids", "scores", "words", "doc", "labels", "context", "meta"]
"""What documents may have besides text and entities."""
_EXTRAS = {"pyarrow": "parquet", "spacy": "spacy"}
EVERYTHING: frozenset[Extra] = frozenset(get_args(Extra))


@dataclass(frozen=True, slots=True)
class Format:
    """A way to store a corpus on disk."""

    name: str
    documents: Callable[[Path, ProblemLog], Iterable[Document]]
    """Reads the documents of a path; problems go into the log."""
    write: Callable[[Iterable[Document], Path], None]
    """Writes fitted documents, all of them or none."""
    fit: Callable[[Document, ProblemLog], Document]
    """The document reduced to what the format can hold; raises `InvalidInputError` if that is nothing. Losses go into the log,
    as kept if the entities survive and only their surroundings change."""
    recognises: Callable[[Path, str], bool]
    """Whether a path, with this text at its beginning (empty for a folder), looks like the format."""
    keeps: frozenset[Extra] = frozenset()
    """What it stores besides text and entities. The rest is not written, which does not count as a loss."""
    signature: bool = False
    """Whether `recognises` is certain. A match takes precedence over formats without a signature."""
    needs: str = ""
    """The optional package that reading and writing need."""
    reads_folders: bool = False
    writes_folder: bool = False
    texts: Callable[[Path, ProblemLog, Position], Iterator[Document]] | None = None
    """Streams documents without their entities; None if the format cannot be streamed."""

    def check_installed(self) -> None:
        """Raises an error if the package of the format is missing."""
        if self.needs and find_spec(self.needs) is None:
            raise AnynerError(
                f"format {self.name} needs {self.needs}, which is not installed: pip install 'anyner[{_EXTRAS[self.needs]}]'"
            )

    def read(self, path: Path) -> Corpus:
        self.check_installed()
        log = ProblemLog(path)
        documents = tuple(self.documents(path, log))
        return Corpus(documents, tuple(log.found))
