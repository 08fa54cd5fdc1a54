"""Texts to predict on: an argument, stdin, text files, or the documents of a corpus in any format."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import typer

from anyner.cli.corpus import STDIN, is_there, read_corpus, tell_problems
from anyner.corpora.textfiles import BYTE_ORDER_MARK, numbered_lines, whole_text
from anyner.document import Document
from anyner.errors import AnynerError, InvalidInputError

_TEXT_ENDINGS = (".txt", ".txt.gz", ".txt.xz")


def documents_of(text: str | None, files: Sequence[str], lines: bool, context: int) -> Iterator[Document]:
    """The documents in order. With `lines` every line of stdin or of a text file is one, empty ones included.

    A file that is not there is told before any is read.
    """
    for name in files:
        if not is_there(name):
            raise AnynerError(f"{name}: no such file or folder")
    return _documents_of(text, files, lines, context)


def _documents_of(text: str | None, files: Sequence[str], lines: bool, context: int) -> Iterator[Document]:
    if text is not None:
        yield from _stdin(lines) if text == "-" else [Document(text)]
    for name in files:
        if name == "-":
            yield from _stdin(lines)
        elif name.lower().endswith(_TEXT_ENDINGS):
            yield from _text_file(Path(name), lines)
        elif texts := _texts_in(Path(name)):
            _tell_others(Path(name), texts)
            for path in texts:
                yield from _text_file(path, lines)
        else:
            yield from _corpus(name, context)


def _stdin(lines: bool) -> Iterator[Document]:
    if lines:
        yield from _numbered(_decoded_lines(sys.stdin.buffer), "", STDIN)
    else:
        text = "".join(line for _, line in _decoded_lines(sys.stdin.buffer, keep_ends=True))
        yield _document(text, "", STDIN)


def _texts_in(folder: Path) -> list[Path]:
    """The text files of a folder that holds no annotation; with .ann files it is a brat corpus."""
    if not folder.is_dir() or any(folder.glob("*.ann")):
        return []
    return sorted(path for path in folder.iterdir() if path.name.lower().endswith(_TEXT_ENDINGS))


def _tell_others(folder: Path, texts: Sequence[Path]) -> None:
    if others := sorted({path.name for path in folder.iterdir()} - {path.name for path in texts}):
        shown = ", ".join(others[:3]) + (" …" if len(others) > 3 else "")
        typer.echo(f"{folder}: only its text files are read, not {shown} ({len(others)} in all)", err=True)


def _text_file(path: Path, lines: bool) -> Iterator[Document]:
    name = path.name.split(".txt")[0]
    if lines:
        yield from _numbered(numbered_lines(path), f"{name}-", str(path))
    else:
        yield _document(whole_text(path).removeprefix(BYTE_ORDER_MARK), name, str(path))


def _corpus(name: str, context: int) -> Iterator[Document]:
    from anyner.corpora.neighbours import neighbours_attached

    corpus = read_corpus(name)
    tell_problems(corpus.problems)
    yield from neighbours_attached(corpus.documents, context) if context else corpus


def _numbered(lines: Iterable[tuple[int, str]], prefix: str, where: str) -> Iterator[Document]:
    for number, line in lines:
        yield _document(line, f"{prefix}{number}", f"{where}:{number}")


def _document(text: str, name: str, where: str) -> Document:
    try:
        return Document(text, id=name)
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error}") from None


def _decoded_lines(stream: Iterable[bytes], keep_ends: bool = False) -> Iterator[tuple[int, str]]:
    for number, data in enumerate(stream, 1):
        try:
            line = data.decode()
        except UnicodeDecodeError as error:
            raise AnynerError(f"{STDIN}:{number}: not UTF-8 text (byte 0x{data[error.start]:02x})") from None
        line = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
        yield number, line if keep_ends else line.removesuffix("\n").removesuffix("\r")
