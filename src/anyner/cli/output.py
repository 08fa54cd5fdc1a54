"""Output: results on stdout or in a file that is written atomically; messages, tables and a progress counter."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from anyner.errors import AnynerError, printable

if TYPE_CHECKING:
    from anyner.document import Document
    from anyner.evaluation.evaluate import Evaluation

_SECONDS_BETWEEN_COUNTS = 0.5
_NOT_UNICODE = "backslashreplace"  # a lone surrogate, e.g. from a file name that is not UTF-8, must not abort a run


def say(line: str, err: bool = False) -> None:
    """Prints one line, with unprintable characters escaped."""
    typer.echo(printable(line), err=err)


def check_writable(path: Path, inputs: Iterable[str | Path] = ()) -> None:
    """Raises an error, before any work is done, if the path is a folder or would overwrite an input."""
    if path.is_dir():
        raise AnynerError(f"{path}: cannot be written: it is a folder")
    if path.is_file():
        for read in map(Path, inputs):
            if read.exists() and (path.samefile(read) or (read.is_dir() and path.resolve().is_relative_to(read.resolve()))):
                raise AnynerError(f"{path}: is read by this command and would be replaced: choose another output")


def check_outputs(output: Path | None, report: Path | None, inputs: Iterable[str | Path]) -> None:
    """Like `check_writable`, for a file of scores and an HTML report."""
    for path in filter(None, (output, report)):
        check_writable(path, inputs)
    if report is None:
        return
    if output is not None and report.resolve() == output.resolve():
        raise AnynerError(f"{report}: is the report and the output: choose two files")
    if report.suffix.lower() not in (".html", ".htm"):
        raise AnynerError(f"{report}: the report is an HTML page: its name must end in .html")


def is_device(path: Path) -> bool:
    """Whether it exists and is neither a file nor a folder, e.g. a pipe or a terminal."""
    return path.exists() and not path.is_file() and not path.is_dir()


def write_out(path: Path | None, write: Callable[[TextIO], object]) -> None:
    """Calls `write` with stdout, or with a file that replaces `path` once complete, compressed if its name ends in .gz or .xz."""
    from anyner.corpora.textfiles import packing
    from anyner.storage.files import write_whole

    if path is None:
        write(sys.stdout)
        return
    packed = "" if is_device(path) else path.suffix.lower()

    def fill(temporary: Path) -> None:
        with (
            packing(temporary, packed) as stream,
            TextIOWrapper(stream, encoding="utf-8", errors=_NOT_UNICODE, newline="\n") as file,
        ):
            write(file)

    try:
        write_whole(path, fill)
    except OSError as error:
        raise AnynerError(f"{path}: cannot be written: {error.strerror or error}") from None


class Progress:
    """A progress counter on stderr, with the rate; wiped at the end."""

    def __init__(self, show: bool) -> None:
        self._show = show
        self._documents = self._words = 0
        self._began = self._shown = time.monotonic()
        self._first = (0, 0.0, self._began)

    def words(self, number: int) -> None:
        """Sets the number of words read so far: a single document may take hours."""
        self._words = number
        self._tell()

    def counted(self, documents: Iterable[Document]) -> Iterator[Document]:
        self._began = self._shown = time.monotonic()
        try:
            for document in documents:
                self._documents += 1
                self._tell()
                yield document
        finally:
            self.wipe()

    def share(self, documents: int, share: float) -> None:
        """Sets the number of documents done and the share of the input read, from 0 to 1."""
        if not self._documents:
            self._first = (documents, share, time.monotonic())
        self._documents = documents
        if not self._due():
            return
        first, before, began = self._first
        rate = (documents - first) / max(self._shown - began, 1e-9)
        line = f"{documents:,} documents, {share:.0%}, {rate:,.0f} a second"
        if share > before:
            line += f", {timedelta(seconds=round((1 - share) / (share - before) * (self._shown - began)))} left"
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)

    def wipe(self) -> None:
        if self._shown > self._began:
            print("\r\x1b[K", end="", file=sys.stderr)

    def _due(self) -> bool:
        now = time.monotonic()
        if not self._show or now - self._shown <= _SECONDS_BETWEEN_COUNTS:
            return False
        self._shown = now
        return True

    def _tell(self) -> None:
        if not self._due():
            return
        now = self._shown
        of, number = ("words ", self._words) if self._words else ("", self._documents)
        read = f"{self._documents:,} documents" + (f", {self._words:,} words" if self._words else "")
        print(f"\r{read}, {number / (now - self._began):,.0f} {of}a second\x1b[K", end="", file=sys.stderr, flush=True)


def warn_nothing_learned() -> None:
    say("anyner: nothing was learned (F1 is 0): check the data with anyner inspect, or train longer", err=True)


def with_printable_labels(measured: Evaluation) -> Evaluation:
    return replace(measured, labels={printable(label): score for label, score in measured.labels.items()})


def table(rows: Sequence[Sequence[str | int]]) -> str:
    """Aligned columns, the first row as header: numbers right-aligned, text left-aligned."""
    cells = [[f"{cell:,}" if isinstance(cell, int) else printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [any(isinstance(row[place], int) for row in rows[1:]) for place in range(len(widths))]
    lines = [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    ]
    lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines)


def listing(rows: Iterable[tuple[str, object]]) -> str:
    """Names and values, one pair per line, with the values aligned."""
    pairs = [(printable(name), f"{value:,}" if isinstance(value, int) else printable(str(value))) for name, value in rows]
    width = max((len(name) for name, _ in pairs), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}".rstrip() for name, value in pairs)
