"""Where results go: stdout, or a file that is there whole or not at all; tables and the count of documents on the way."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.document import Document

_SECONDS_BETWEEN_COUNTS = 0.5


def check_writable(path: Path) -> None:
    """Refuses, before any work is done, a path that cannot become a file."""
    if path.is_dir():
        raise AnynerError(f"{path}: cannot be written: it is a folder")


def write_out(path: Path | None, write: Callable[[TextIO], object]) -> None:
    """Lets `write` fill stdout, or a file that replaces `path` only when it is whole."""
    from anyner.storage.files import write_whole

    if path is None:
        write(sys.stdout)
        return

    def fill(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            write(file)

    try:
        write_whole(path, fill)
    except OSError as error:
        raise AnynerError(f"{path}: cannot be written: {error.strerror or error}") from None


def counted(documents: Iterable[Document], show: bool) -> Iterator[Document]:
    """The documents; if `show`, their number so far appears on stderr, and is wiped out at the end."""
    began = shown = time.monotonic()
    try:
        for number, document in enumerate(documents, 1):
            if show and time.monotonic() - shown > _SECONDS_BETWEEN_COUNTS:
                shown = time.monotonic()
                print(f"\r{number:,} documents, {number / (shown - began):,.0f} a second\x1b[K", end="", file=sys.stderr)
                sys.stderr.flush()
            yield document
    finally:
        if shown > began:
            print("\r\x1b[K", end="", file=sys.stderr)


def tell_nothing_learned() -> None:
    print("anyner: nothing was learned: look at the data with anyner inspect, or train longer", file=sys.stderr)


def table(rows: Sequence[Sequence[str | int]]) -> str:
    """Aligned columns under the headings of the first row: numbers to the right, text to the left."""
    cells = [[f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in rows]
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
    """Names and values, one pair a line, the values aligned."""
    pairs = [(name, f"{value:,}" if isinstance(value, int) else str(value)) for name, value in rows]
    width = max((len(name) for name, _ in pairs), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}".rstrip() for name, value in pairs)
