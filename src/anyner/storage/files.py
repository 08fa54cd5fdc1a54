"""Files that are either there whole or not at all."""

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
    """No space was left for a file. What lay there before is still there."""


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Turns a full disk, whichever library meets it, into one line that names the file."""
    try:
        yield
    except Exception as error:  # tokenizers raises nothing more special
        if not isinstance(error, DiskFullError) and not _no_room(error):
            raise
        raise DiskFullError(f"{path}: no space left on the disk") from None


def _no_room(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in _NO_ROOM
    return any(f"(os error {number})" in str(error) for number in _NO_ROOM)  # as libraries in Rust tell it


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Lets `write` fill a temporary file beside `path`, then puts it in place in one step, with the mode of the old file.

    A link is followed; what is there and is no file (a pipe, a device) is written to as it is.
    """
    if path.exists() and not path.is_file():  # asked before links are followed: those of pipes lead nowhere
        with room_for(path):
            write(path)
        return
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as temporary, room_for(path):
        write(temporary)


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8", errors="backslashreplace"))
