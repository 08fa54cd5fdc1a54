"""Atomic writing of files: each is there in full or not at all."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from anyner.corpora.textfiles import replacing
from anyner.errors import AnynerError

CONFIG, WEIGHTS, CARD, METRICS, RECIPE = "config.json", "model.safetensors", "README.md", "metrics.json", "recipe.yaml"
EPOCHS = "metrics.jsonl"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class DiskFullError(AnynerError):
    """No space was left for a file. The old file, if any, is unchanged."""


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Turns the disk-full error of any library into one line that names the file."""
    try:
        yield
    except Exception as error:  # tokenizers raises a plain Exception
        if not isinstance(error, DiskFullError) and not _no_room(error):
            raise
        raise DiskFullError(f"{path}: no space left on the disk") from None


def _no_room(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in _NO_ROOM
    return any(f"(os error {number})" in str(error) for number in _NO_ROOM)  # as Rust libraries report it


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Lets `write` fill a temporary file beside `path`, then moves it into place atomically, with the mode of the old file.

    Links are followed; a path that exists and is not a file (a pipe, a device) is written to directly.
    """
    if path.exists() and not path.is_file():  # before links are followed: those of pipes lead nowhere
        with room_for(path):
            write(path)
        return
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as temporary, room_for(path):
        write(temporary)


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8", errors="backslashreplace"))
