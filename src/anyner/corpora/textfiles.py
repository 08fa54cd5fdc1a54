"""Reading and replacing text files: UTF-8, or UTF-16 with a byte order mark; plain or .gz or .xz; LF or CRLF."""

from __future__ import annotations

import codecs
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
from typing import IO, Any, Protocol, TypeVar, cast

from anyner.errors import AnynerError

Item = TypeVar("Item")
BYTE_ORDER_MARK = "\ufeff"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_READ_AT_ONCE, _HEAD = 1 << 17, 1 << 16
_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_NOT_UNICODE = "backslashreplace"  # as JSON escapes lone surrogates; they must not end a run


_UNPACKED, _UNPACKED_RATIO = 1_000_000_000, 20
"""Maximum unpacked size: bytes, or a multiple of the packed size if that is more. Text rarely packs that well."""


class LineError(AnynerError):
    """A file cannot be read at this line, or from it on."""

    def __init__(self, path: Path | str, line: int, what: str) -> None:
        self.line, self.what = line, what
        super().__init__(f"{path}:{line}: {what}")


class NotUtf8Error(LineError):
    """A file is not UTF-8 text."""

    def __init__(self, path: Path | str, line: int, byte: int) -> None:
        super().__init__(path, line, f"not UTF-8 text (byte 0x{byte:02x})")


class Position:
    """How far a file has been read, in bytes on disk: of the packed file, if it is packed."""

    def __init__(self) -> None:
        self.file: IO[bytes] | None = None

    @property
    def bytes(self) -> int:
        return 0 if self.file is None or self.file.closed else self.file.tell()


class _Packed(Protocol):
    def read1(self, size: int, /) -> bytes:
        """At least one byte, unless the file has ended: whatever comes before damage is returned before its error is raised."""


class _XzFile:
    """All streams of an .xz file. `LZMAFile` takes a damaged stream after the first one for the end of the file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._stream = file, lzma.LZMADecompressor(lzma.FORMAT_XZ)

    def read1(self, size: int, /) -> bytes:
        data = b""
        while not data:
            packed = b""
            if self._stream.eof:
                packed = self._after_padding(self._stream.unused_data)
                if not packed:
                    break
                self._stream = lzma.LZMADecompressor(lzma.FORMAT_XZ)
            elif self._stream.needs_input:
                packed = self._file.read(io.DEFAULT_BUFFER_SIZE)
                if not packed:
                    raise EOFError
            data = self._stream.decompress(packed, size)
        return data

    def _after_padding(self, packed: bytes) -> bytes:
        """The beginning of the next stream; empty at the end of the file."""
        packed = packed.lstrip(b"\0")
        while not packed and (packed := self._file.read(io.DEFAULT_BUFFER_SIZE)):
            packed = packed.lstrip(b"\0")
        return packed


_UNPACKERS: dict[bytes, Callable[[IO[bytes]], _Packed]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"\xfd7zXZ\x00": _XzFile,
}
"""Magic bytes of packed files, and what unpacks them."""


@contextmanager
def _bytes_of(path: Path, position: Position | None = None) -> Iterator[io.BufferedReader]:
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
    except OSError as error:
        raise AnynerError(f"{path}: cannot be read: {error.strerror or error}") from error


class _Unpacked(io.RawIOBase):
    """The content of a packed file, up to a limit: a few kilobytes can unpack to more than fits into memory."""

    def __init__(self, stream: _Packed, path: Path) -> None:
        self._stream, self._path, self._line = stream, path, 1
        self._left = self._limit = max(_UNPACKED, _UNPACKED_RATIO * path.stat().st_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read1(len(buffer))
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
            what = "is cut off here" if isinstance(error, EOFError) else f"is damaged here or before ({error})"
            what = f"cannot be read further: the compressed file {what}: copy or download it again"
            raise LineError(self._path, self._line, what) from error
        buffer[: len(data)] = data
        self._line += data.count(b"\n")
        self._left -= len(data)
        if self._left < 0:
            raise AnynerError(f"{self._path}: unpacks to more than {self._limit / 1e9:g} GB: unpack it first")
        return len(data)


class _Recoded(io.RawIOBase):
    """The content of a UTF-16 file in UTF-8. Lone surrogates stay what they are, so that their lines are reported."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream, self._held = stream, b""
        self._decoder = codecs.getincrementaldecoder("utf-16")("surrogatepass")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = b"more"
        while data and not self._held:
            data = self._stream.read1(len(buffer))
            self._held = self._decoder.decode(data, final=not data).encode(errors="surrogatepass")
        part, self._held = self._held[: len(buffer)], self._held[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


@contextmanager
def _utf8_of(path: Path, position: Position | None = None) -> Iterator[io.BufferedReader]:
    """The content of a text file, in UTF-8."""
    with _bytes_of(path, position) as stream:
        try:
            is_utf16 = stream.peek(2)[:2] in _UTF16_MARKS
            yield io.BufferedReader(_Recoded(stream), _READ_AT_ONCE) if is_utf16 else stream
        except UnicodeDecodeError:
            raise AnynerError(f"{path}: ends inside a UTF-16 character: it is cut off: copy or download it again") from None


def decoded(data: bytes, path: Path | str, first_line: int) -> str:
    """UTF-8 as text; an error names the line."""
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
    with _utf8_of(path, position) as stream:
        for number, data in enumerate(stream, 1):
            try:
                line = decoded(data, path, number).removesuffix("\n").removesuffix("\r")
            except NotUtf8Error as error:
                if bad is None:
                    raise
                bad(number, error.what)
                continue
            yield number, line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line


def whole_text(path: Path) -> str:
    """The whole text of a file, with its line ends and byte order mark."""
    with _utf8_of(path) as stream:
        return decoded(stream.read(), path, 1)


def whole_bytes(path: Path) -> bytes:
    """The whole content of a binary file."""
    with _bytes_of(path) as stream:
        return stream.read()


def head_bytes(path: Path) -> bytes:
    """The first 64 KiB. The lines before damage are enough to detect a format."""
    with _bytes_of(path) as stream:
        return _head(stream)


def head_of(path: Path) -> str:
    """The same as text; invalid bytes are replaced."""
    with _utf8_of(path) as stream:
        return _head(stream).decode(errors="replace").removeprefix(BYTE_ORDER_MARK)


def _head(stream: io.BufferedReader) -> bytes:
    head = b""
    try:
        while len(head) < _HEAD and (more := stream.read1(_HEAD - len(head))):
            head += more
    except LineError:
        if b"\n" not in head:
            raise
    return head


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
