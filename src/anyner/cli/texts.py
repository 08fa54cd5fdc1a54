"""Texts to predict on: an argument, stdin, text files, or the documents of a corpus in any format."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator, Sequence
from io import UnsupportedOperation
from pathlib import Path
from typing import BinaryIO

from anyner.cli.corpus import STDIN, check_there, read_corpus
from anyner.cli.output import say
from anyner.corpora.reading import is_corpus_folder
from anyner.corpora.source_documents import neighbours_attached
from anyner.corpora.textfiles import BYTE_ORDER_MARK, numbered_lines, whole_text
from anyner.document import Document
from anyner.errors import AnynerError, InvalidInputError
from anyner.inference.pool import FLUSH, Flush

_AT_ONCE = 65_536
_TEXT_ENDINGS = (".txt", ".txt.gz", ".txt.xz")


def documents_of(text: str | None, files: Sequence[str], lines: bool = False, context: int = 0) -> Iterator[Document | Flush]:
    """The documents in order, and FLUSH wherever the next line of stdin has yet to come.

    With `lines` every line of stdin or of a text file is a document, empty ones included. A file that is not there is told
    before any is read.
    """
    for name in files:
        check_there(name)
    if text is not None:
        yield from _stdin(lines) if text == "-" else [Document(text)]
    for name in files:
        if name == "-":
            yield from _stdin(lines)
        elif name.lower().endswith(_TEXT_ENDINGS):
            yield from _text_file(Path(name), lines)
        elif texts := _texts_in(Path(name)):
            for path in texts:
                yield from _text_file(path, lines)
        else:
            corpus = read_corpus(name)
            yield from neighbours_attached(corpus.documents, context) if context else corpus


def _stdin(lines: bool) -> Iterator[Document | Flush]:
    if not lines:
        text = "".join(_decoded(data, number) for number, data in enumerate(sys.stdin.buffer, 1))
        yield _document(text, "", STDIN)
        return
    number = 0
    for line in _lines_as_they_come(sys.stdin.buffer):
        if isinstance(line, Flush):
            yield line
            continue
        number += 1
        yield _document(_decoded(line, number).removesuffix("\n").removesuffix("\r"), str(number), f"{STDIN}:{number}")


def _lines_as_they_come(stream: BinaryIO) -> Iterator[bytes | Flush]:
    """The lines, and FLUSH before each wait: whoever types a line, or a slow program, gets its answer before the next one."""
    parts: list[bytes] = []  # of a line that has not ended yet
    while True:
        if not _more_is_there(stream):
            yield FLUSH
        first, *others = stream.read1(_AT_ONCE).split(b"\n")  # type: ignore[attr-defined]
        parts.append(first)
        for other in others:
            yield b"".join(parts) + b"\n"
            parts = [other]
        if not first and not others:
            break
    if any(parts):
        yield b"".join(parts)


def _more_is_there(stream: BinaryIO) -> bool:
    """Whether reading would not wait. Where that cannot be asked (pipes on Windows), no: a smaller batch is the lesser harm."""
    try:
        return bool(select.select([stream], [], [], 0)[0])
    except UnsupportedOperation:  # bytes in memory
        return True
    except (OSError, ValueError):
        return False


def _texts_in(folder: Path) -> list[Path]:
    """The text files of a folder that holds no annotation; with .ann files it is a brat corpus."""
    if not folder.is_dir() or is_corpus_folder(folder):
        return []
    names = sorted(path.name for path in folder.iterdir())
    texts = [name for name in names if name.lower().endswith(_TEXT_ENDINGS)]
    if texts and (others := [name for name in names if name not in texts]):
        shown = ", ".join(others[:3]) + (" …" if len(others) > 3 else "")
        say(f"{folder}: only its text files are read, not {shown} ({len(others)} in all)", err=True)
    return [folder / name for name in texts]


def _text_file(path: Path, lines: bool) -> Iterator[Document]:
    name = path.name.split(".txt")[0]
    if not lines:
        yield _document(whole_text(path).removeprefix(BYTE_ORDER_MARK), name, str(path))
        return
    for number, line in numbered_lines(path):
        yield _document(line, f"{name}-{number}", f"{path}:{number}")


def _document(text: str, name: str, where: str) -> Document:
    try:
        return Document(text, id=name)
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error}") from None


def _decoded(line: bytes, number: int) -> str:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise AnynerError(f"{STDIN}:{number}: not UTF-8 text (byte 0x{line[error.start]:02x})") from None
    return text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text
