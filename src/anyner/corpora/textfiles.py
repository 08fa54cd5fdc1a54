"""Reading and replacing text files: UTF-8, plain or .gz or .xz, with or without a byte order mark, LF or CRLF."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import shutil
import stat
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from anyner.errors import AnynerError

Item = TypeVar("Item")
BYTE_ORDER_MARK = "\ufeff"
_Packed = gzip.GzipFile | lzma.LZMAFile
_UNPACKERS: dict[bytes, Callable[[IO[bytes]], _Packed]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
"""Magic bytes of packed files, and what unpacks them."""
_READ_AT_ONCE = 1 << 17
_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_NOT_UNICODE = "backslashreplace"  # as JSON escapes lone surrogates; they must not end a run


_UNPACKED, _UNPACKED_RATIO = 1_000_000_000, 20
"""Maximum unpacked size: bytes, or a multiple of the packed size if that is more. Text rarely packs that well."""


class Position:
    """How far a file has been read, in bytes on disk: of the packed file, if it is packed."""

    def __init__(self) -> None:
        self.file: IO[bytes] | None = None

    @property
    def bytes(self) -> int:
        return 0 if self.file is None or self.file.closed else self.file.tell()


@contextmanager
def _bytes_of(path: Path, position: Position | None = None) -> Iterator[IO[bytes]]:
    """The unpacked bytes of a file; packing is detected from the first bytes, not from the name."""
    try:
        with path.open("rb") as plain:
            if position is not None:
                position.file = plain
            first = plain.read(max(map(len, _UNPACKERS)))
            plain.seek(0)
            unpacker = next((unpacker for mark, unpacker in _UNPACKERS.items() if first.startswith(mark)), None)
            yield plain if unpacker is None else io.BufferedReader(_Unpacked(unpacker(plain), path), _READ_AT_ONCE)
    except FileNotFoundError:
        raise AnynerError(f"{path}: no such file") from None
    except MemoryError:
        raise AnynerError(f"{path}: too large for the memory of this machine") from None
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise AnynerError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error


class _Unpacked(io.RawIOBase):
    """The content of a packed file, up to a limit: a few kilobytes can unpack to more than fits into memory."""

    def __init__(self, stream: _Packed, path: Path) -> None:
        self._stream, self._path = stream, path
        self._left = self._limit = max(_UNPACKED, _UNPACKED_RATIO * path.stat().st_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._left -= len(data)
        if self._left < 0:
            raise AnynerError(f"{self._path}: unpacks to more than {self._limit / 1e9:g} GB: unpack it first")
        return len(data)


class NotUtf8Error(AnynerError):
    """A file is not UTF-8 text."""

    def __init__(self, path: Path, line: int, byte: int) -> None:
        self.line, self.what = line, f"not UTF-8 text (byte 0x{byte:02x})"
        super().__init__(f"{path}:{line}: {self.what}")


def _decoded(data: bytes, path: Path, first_line: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise NotUtf8Error(path, first_line + data.count(b"\n", 0, error.start), data[error.start]) from None


def numbered_lines(
    path: Path, position: Position | None = None, bad: Callable[[int, str], object] | None = None
) -> Iterator[tuple[int, str]]:
    """Every line with its number from 1, without its line end; only LF and CRLF end a line.

    A line that is not UTF-8 is an error; with `bad`, it is passed to that function and left out.
    """
    with _bytes_of(path, position) as stream:
        for number, data in enumerate(stream, 1):
            try:
                line = _decoded(data, path, number).removesuffix("\n").removesuffix("\r")
            except NotUtf8Error as error:
                if bad is None:
                    raise
                bad(number, error.what)
                continue
            yield number, line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line


def whole_text(path: Path) -> str:
    """The whole text of a file, with its line ends and byte order mark."""
    with _bytes_of(path) as stream:
        return _decoded(stream.read(), path, 1)


def whole_bytes(path: Path) -> bytes:
    """The whole content of a binary file."""
    with _bytes_of(path) as stream:
        return stream.read()


def head_bytes(path: Path, size: int = 65536) -> bytes:
    with _bytes_of(path) as stream:
        return stream.read(size)


def head_of(path: Path) -> str:
    """The first 64 KiB as text, for format detection; invalid bytes are replaced."""
    return head_bytes(path).decode(errors="replace").removeprefix(BYTE_ORDER_MARK)


def write_chunks(path: Path, chunks: Iterable[str]) -> None:
    """Replace a file with the chunks, packed as its name says; if anything fails, the old file stays and nothing else is left."""
    write_bytes(path, (chunk.encode(errors=_NOT_UNICODE) for chunk in _mark_guarded(chunks)))


def write_bytes(path: Path, chunks: Iterable[bytes]) -> None:
    """As `write_chunks`, for binary data."""
    if path.is_fifo() or path.is_char_device():  # checked before links are resolved: links to pipes resolve to no path
        with path.open("wb") as pipe:
            pipe.writelines(chunks)
        return
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise AnynerError(f"{path}: cannot be written: it is not a file")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as temporary, packing(temporary, target.suffix) as stream:
            stream.writelines(chunks)
    except OSError as error:
        raise AnynerError(f"{path}: cannot be written: {error.strerror or error}") from error


def chunk_writer(chunks_of: Callable[[Iterable[Item]], Iterable[str]]) -> Callable[[Iterable[Item], Path], None]:
    """A function that writes documents, or other items, to one file."""
    return lambda items, path: write_chunks(path, chunks_of(items))


def temporary_beside(target: Path) -> Path:
    """An unused name in the target's folder, so that a file of that name can replace the target."""
    return target.with_name(f".anyner-{uuid.uuid4().hex}.tmp")


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A new empty file beside `target`. At the end it replaces the target, with its mode; if anything fails, it is deleted."""
    temporary = temporary_beside(target)
    try:
        old: int | None = stat.S_IMODE(target.stat().st_mode) & 0o777
    except FileNotFoundError:
        old = None
    # Others must not be able to read what replaces a private file, not even while it is written.
    opened = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if old is None else 0o600)
    try:
        mode = stat.S_IMODE(os.fstat(opened).st_mode) if old is None else old
        os.close(opened)
        yield temporary
        temporary.chmod(mode)  # some writers make files that only their owner can read
        temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def new_folder(path: Path, format_name: str) -> Iterator[Path]:
    """A folder to fill. At the end it replaces `path`, which must be new or empty; if anything fails, it is deleted."""
    target = path.resolve()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise AnynerError(f"{path}: {format_name} needs a new or empty folder to write to")
    temporary = temporary_beside(target)
    try:
        temporary.mkdir(parents=True)
        yield temporary
        if target.exists():
            target.rmdir()
        temporary.replace(target)
    except OSError as error:
        raise AnynerError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def file_names(ids: list[str]) -> list[str]:
    """The ids if all are distinct and safe as file names; else numbers, which keep the order."""
    if all(map(_SAFE_NAME.fullmatch, ids)) and len({name.lower() for name in ids}) == len(ids):
        return ids
    return [str(number).zfill(len(str(len(ids)))) for number in range(1, len(ids) + 1)]


def _mark_guarded(chunks: Iterable[str]) -> Iterator[str]:
    # Readers remove one byte order mark: a text that really begins with that character gets a second one.
    first = True
    for chunk in chunks:
        if first and chunk.startswith(BYTE_ORDER_MARK):
            yield BYTE_ORDER_MARK
        first = first and not chunk
        yield chunk


def format_of(path: Path, by_ending: Mapping[str, str], option: str, known: Iterable[str]) -> str:
    """The format by file extension; .gz and .xz are ignored."""
    plain = path.with_suffix("") if path.suffix.lower() in (".gz", ".xz") else path
    if plain.suffix.lower() not in by_ending:
        raise AnynerError(f"{path}: cannot tell the format from the file name: add {option}, one of {', '.join(known)}")
    return by_ending[plain.suffix.lower()]


@contextmanager
def packing(path: Path, suffix: str) -> Iterator[IO[bytes]]:
    """A file to write bytes to, packed as the suffix says."""
    with ExitStack() as opened:
        plain = opened.enter_context(path.open("wb"))
        if suffix == ".gz":
            # No file name or time in the header: the same documents give the same bytes.
            yield cast(IO[bytes], opened.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=0)))
        elif suffix == ".xz":
            yield opened.enter_context(lzma.LZMAFile(plain, "wb"))
        else:
            yield plain
