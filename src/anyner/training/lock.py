"""One training a folder: the lock that keeps a second one out."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anyner.errors import AnynerError
from anyner.storage.files import room_for
from anyner.training.checkpoint import NEW

_LOCK = ".training.lock"
_LEFT_BEHIND = re.compile(r"\.new\.\w+|\.anyner-\w+\.tmp|\.[\w.]+\.\d+\.part")
"""Names of what is written beside a file or model until it is whole; `.part` by earlier versions."""
_held: set[Path] = set()
"""Locks of this process: its id alone cannot tell them from those of a process that had the same id before."""


def refuse_if_locked(folder: Path) -> None:
    """Raises if another training writes to the folder."""
    if owner := _owner(folder / _LOCK):
        raise AnynerError(
            f"{folder}: another training writes to it, {owner}: choose another output folder (or remove {_LOCK} there "
            "if that process is gone)"
        )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the folder's lock; what a killed training left half-written is removed first."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder.resolve() / _LOCK
    _take(path)
    try:
        _remove_left_behind(folder)
        yield
    finally:
        path.unlink(missing_ok=True)
        _held.discard(path)


def _take(path: Path) -> None:
    refuse_if_locked(path.parent)
    if path.exists():  # of a process that is gone
        stale, aside = path.read_bytes(), path.with_name(f"{_LOCK}.{os.getpid()}.part")
        path.rename(aside)
        if aside.read_bytes() != stale:  # another training was faster, and this is its lock
            aside.rename(path)
            refuse_if_locked(path.parent)
        aside.unlink(missing_ok=True)
    try:
        with room_for(path), path.open("x", encoding="utf-8") as file:
            file.write(json.dumps({"process": os.getpid(), "host": socket.gethostname()}))
    except FileExistsError:
        refuse_if_locked(path.parent)
        raise
    _held.add(path)


def _owner(path: Path) -> str | None:
    """Who holds the lock; None if nobody does, or a process that is gone."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        process, host = int(plain["process"]), str(plain["host"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):  # none, or one that a kill left empty
        return None
    gone = path.resolve() not in _held if process == os.getpid() else not _runs(process)
    return None if gone and host == socket.gethostname() else f"process {process} on {host}"


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # someone else's; no process has such a number
        return True
    return True


def _remove_left_behind(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name == NEW or (_LEFT_BEHIND.fullmatch(path.name) and path.name.startswith(".new.")):
            shutil.rmtree(path, ignore_errors=True)
        elif _LEFT_BEHIND.fullmatch(path.name):
            path.unlink(missing_ok=True)
