"""Texts to predict on: an argument, stdin, text files, or the documents of a corpus in any format."""

from __future__ import annotations

import select
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import UnsupportedOperation
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypeVar

from anyner.bulk.chunks import Chunk, chunks_of, with_context
from anyner.bulk.tables import parquet_chunks, schema_of
from anyner.cli.corpus import STDIN, check_exists, print_problems, read_corpus, running
from anyner.cli.output import is_device, say
from anyner.corpora.corpus import Problem, ProblemLog, grouped
from anyner.corpora.reading import is_corpus_folder, recognised
from anyner.corpora.textfiles import BYTE_ORDER_MARK, LineError, NotUtf8Error, Position, decoded, numbered_lines, whole_text
from anyner.document import Document
from anyner.errors import AnynerError, InvalidInputError
from anyner.inference.pool import FLUSH, Flush

Item = TypeVar("Item")
_AT_ONCE = 65_536
_TEXT_ENDINGS = (".txt", ".txt.gz", ".txt.xz")
_PARQUET = ".parquet"
_MORE_ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.xz", _PARQUET)


class Files:
    """The documents of files, read one by one where their format allows it."""

    def __init__(self, names: Sequence[str], *, lines: bool = False, context: int = 0, column: str = "text") -> None:
        """With `lines`, every line of a text file is a document, even an empty one. Missing files, and tables without the column,
        are reported before any file is read."""
        for name in names:
            check_exists(name)
            if is_device(Path(name)):
                raise AnynerError(f"{name}: is not a file: pipe it to stdin, with - as its name")
        self._lines, self._context, self._column = lines, context, column
        self._names = [path for name in names for path in _files_in(name)]
        self._schemas = {name: schema_of(Path(name), column) for name in self._names if _is_table(name)}
        self._sizes = [Path(name).stat().st_size if Path(name).is_file() else 0 for name in self._names]
        self._same_name = Counter(map(_name, self._names))
        self._position, self._before, self._nothing = Position(), 0, True
        self.problems: list[Problem] = []
        """Found so far."""

    @property
    def share(self) -> float:
        """Share of the input read so far, from 0 to 1."""
        return min(1.0, (self._before + self._position.bytes) / max(1, sum(self._sizes)))

    @property
    def identity(self) -> list[list[str | int]]:
        """Identifies the files by path, size and modification time."""
        known: list[list[str | int]] = []
        for name in self._names:
            path = Path(name)
            there = path.exists()
            known.append([str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns] if there else [name])
        return known

    def check_same_columns(self) -> None:
        """Refuses inputs that cannot become one table. A table that cannot be read is reported later."""
        first, *others = self._names
        for name in others:
            schema = self._schemas.get(name)
            if (name in self._schemas) != (first in self._schemas) or (schema and schema != self._schemas[first]):
                raise AnynerError(f"{name}: has other columns than {first}: write .jsonl, or a .parquet file for each of them")

    def chunks(self) -> Iterator[Chunk]:
        """The documents in chunks; for files only, not for stdin."""
        return chain.from_iterable(map(self._chunks_of, range(len(self._names))))

    def documents(self) -> Iterator[Document | Flush]:
        for place, name in enumerate(self._names):
            if name == "-":
                yield from self.stdin(last=place + 1 == len(self._names))
            for chunk in () if name == "-" else self._chunks_of(place):
                yield from chunk.documents

    def stdin(self, last: bool = True) -> Iterator[Document | Flush]:
        log = ProblemLog(STDIN)
        for document in _stdin(self._lines, log):
            self._nothing = self._nothing and isinstance(document, Flush)
            yield document
        self._ended(log, last)

    def all_documents(self) -> list[Document]:
        """Reads all documents and prints the problems."""
        with running("reading the texts"):
            documents = [document for document in self.documents() if isinstance(document, Document)]
        print_problems(self.problems)
        return documents

    def _chunks_of(self, place: int) -> Iterator[Chunk]:
        log = ProblemLog(self._names[place])
        for chunk in with_context(self._read(self._names[place], log), self._context):
            self._nothing = False
            yield chunk
        self._before += self._sizes[place]
        self._ended(log, last=place + 1 == len(self._names))

    def _ended(self, log: ProblemLog, last: bool) -> None:
        self.problems += log.found
        if self._nothing and self.problems and last:
            raise AnynerError(f"{grouped(self.problems)[0]}; nothing else could be read")

    def _read(self, name: str, log: ProblemLog) -> Iterator[Chunk]:
        path, self._position = Path(name), Position()
        if _is_table(name):
            return self._readable(lambda: parquet_chunks(path, self._column, log, path.stem), log)
        return chunks_of(self._readable(lambda: self._documents_of(name, log), log))

    def _readable(self, read: Callable[[], Iterable[Item]], log: ProblemLog) -> Iterator[Item]:
        """What can be read of a file. If there are several files, one that cannot be read does not end the run."""
        try:
            yield from read()
        except AnynerError as error:
            if len(self._names) == 1:
                raise
            if isinstance(error, LineError):
                log.dropped(error.line, error.what)
            else:
                log.dropped(0, str(error).removeprefix(f"{log.file}: "))

    def _documents_of(self, name: str, log: ProblemLog) -> Iterable[Document]:
        path = Path(name)
        if name.lower().endswith(_TEXT_ENDINGS):
            own = _name(name)  # files of the same name are told apart by their folders
            own = own if self._same_name[own] == 1 else str(path.with_name(own))
            return _text_file(path, own, self._lines, log, self._position)
        known = recognised(path) if path.exists() else None
        if known is not None and known.texts is not None:
            return known.texts(path, log, self._position)
        return read_corpus(name).documents


def documents_of(text: str | None, files: Files) -> Iterator[Document | Flush]:
    """The documents in order, and FLUSH wherever the next line of stdin is not there yet."""
    if text is not None:
        yield from files.stdin() if text == "-" else [Document(text)]
    yield from files.documents()


def _stdin(lines: bool, log: ProblemLog) -> Iterator[Document | Flush]:
    number = 0
    for data in _lines_as_they_come(sys.stdin.buffer) if lines else [sys.stdin.buffer.read()]:
        if isinstance(data, Flush):
            yield data
            continue
        number += 1
        try:
            text = decoded(data, STDIN, number)
        except NotUtf8Error as error:
            log.dropped(error.line, error.what)
            continue
        text = text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text
        yield Document(text.removesuffix("\n").removesuffix("\r"), id=str(number)) if lines else Document(text)


def _lines_as_they_come(stream: BinaryIO) -> Iterator[bytes | Flush]:
    """The lines, and FLUSH before each blocking read, so that a typed line is answered before the next one."""
    parts: list[bytes] = []  # of an unfinished line
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
    """Whether a read would not block. False where that is unknown (pipes on Windows): smaller batches are the lesser harm."""
    try:
        return bool(select.select([stream], [], [], 0)[0])
    except UnsupportedOperation:  # bytes in memory
        return True
    except (OSError, ValueError):
        return False


def _files_in(name: str) -> list[str]:
    """The text files in a folder and its subfolders, unless it is a corpus; else the name itself."""
    folder = Path(name)
    if not folder.is_dir() or is_corpus_folder(folder):
        return [name]
    files = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    files = [path for path in files if not any(part.startswith(".") for part in path.parts)]
    texts = [path for path in files if path.name.lower().endswith((*_TEXT_ENDINGS, *_MORE_ENDINGS))]
    if not texts:
        raise AnynerError(f"{folder}: is not a corpus, and has no .txt, .jsonl or .parquet file")
    if others := [str(path) for path in files if path not in set(texts)]:
        shown = ", ".join(others[:3]) + (" …" if len(others) > 3 else "")
        say(f"{folder}: only its text files are read, not {shown} ({len(others)} in all)", err=True)
    return [str(folder / path) for path in texts]


def _is_table(name: str) -> bool:
    return name.lower().endswith(_PARQUET) and Path(name).is_file()


def _name(path: str) -> str:
    return Path(path).name.split(".txt")[0]


def _text_file(path: Path, name: str, lines: bool, log: ProblemLog, position: Position) -> Iterator[Document]:
    if not lines:
        try:
            text = whole_text(path)
        except NotUtf8Error as error:
            log.dropped(error.line, error.what)
        else:
            yield _document(text.removeprefix(BYTE_ORDER_MARK), name, str(path))
        return
    for number, line in numbered_lines(path, position, log.dropped):
        yield _document(line, f"{name}-{number}", f"{path}:{number}")


def _document(text: str, name: str, where: str) -> Document:
    try:
        return Document(text, id=name)
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error}") from None
