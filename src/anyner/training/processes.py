"""A training among other processes: signals that stop it, and the lock that keeps a second training out of its folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import current_thread, main_thread

from anyner.errors import AnynerError
from anyner.storage.files import room_for
from anyner.training.checkpoint import NEW

_LOCK = ".training.lock"
_LEFT_BEHIND = re.compile(r"\.new\.\w+|\.anyner-\w+\.tmp|\.[\w.]+\.\d+\.part")
"""Names of half-written files; `.part` by earlier versions."""
_held: set[Path] = set()
"""Locks of this process: a process that is gone may have had the same id."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed, or SIGTERM sent; everything needed to resume has been written."""

    def __init__(self, exit_code: int = 130) -> None:
        super().__init__()
        self.exit_code = exit_code


class StopRequest:
    """Ctrl-C or SIGTERM as a request, which a training reads where everything can be saved."""

    def __init__(self) -> None:
        self.asked = False
        self._number: int = signal.SIGINT

    @property
    def exit_code(self) -> int:
        """As a shell gives it: 130 after Ctrl-C, 143 after SIGTERM."""
        return 128 + self._number

    @contextmanager
    def on_ctrl_c(self) -> Iterator[None]:
        """The first Ctrl-C or SIGTERM is a request; a second one stops at once."""

        def ask(number: int, frame: object) -> None:
            again, self.asked, self._number = self.asked, True, number
            if again and number == signal.SIGTERM:
                sys.exit(self.exit_code)
            if again:
                raise KeyboardInterrupt

        with ExitStack() as handlers:
            if current_thread() is main_thread():  # only this one may handle signals
                for number in (signal.SIGINT, signal.SIGTERM):
                    # None: not set by Python, so Python cannot restore it
                    before = signal.signal(number, ask) or signal.SIG_DFL
                    handlers.callback(signal.signal, number, before)
            yield


def refuse_if_locked(folder: Path) -> None:
    """Raises if another training writes to the folder."""
    if owner := _owner(folder / _LOCK):
        raise AnynerError(
            f"{folder}: another training is writing to it ({owner}): choose another output folder (or remove {_LOCK} there "
            "if that process is gone)"
        )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the lock of the folder; half-written files of a killed training are removed first."""
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
