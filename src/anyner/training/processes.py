"""Signals that stop a training, the lock on its folder, and errors of its other processes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import current_thread, main_thread

from accelerate import PartialState
from filelock import FileLock, Timeout

from anyner.errors import AnynerError
from anyner.storage.files import room_for

LOCK = ".training.lock"
_LOST = re.compile("Connection (closed|reset) by peer|Broken pipe|remote process exited")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed, or SIGTERM sent; everything needed to resume has been written."""

    def __init__(self, exit_code: int = 130) -> None:
        super().__init__()
        self.exit_code = exit_code


class StopRequest:
    """Ctrl-C or SIGTERM as a request, which a training checks where it can save everything."""

    def __init__(self) -> None:
        self.asked = False
        self.exit_code = 0
        """As in a shell: 130 after Ctrl-C, 143 after SIGTERM."""

    @contextmanager
    def on_ctrl_c(self) -> Iterator[None]:
        """The first Ctrl-C or SIGTERM is a request; a second one stops at once."""

        def ask(number: int, frame: object) -> None:
            again, self.asked, self.exit_code = self.asked, True, 128 + number
            if again and number == signal.SIGTERM:
                sys.exit(self.exit_code)
            if again:
                raise KeyboardInterrupt

        with ExitStack() as handlers:
            if current_thread() is main_thread():  # only the main thread may set signal handlers
                for number in (signal.SIGINT, signal.SIGTERM):
                    # None: not set by Python, so Python cannot restore it
                    before = signal.signal(number, ask) or signal.SIG_DFL
                    handlers.callback(signal.signal, number, before)
            yield


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the lock of the folder, which the system releases if the process dies. Half-written files of a killed training are
    removed first; a new folder that stays empty is removed at the end."""
    if folder.exists() and not folder.is_dir():
        raise AnynerError(f"{folder} is a file, not a folder")
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        with room_for(folder / LOCK):
            lock.acquire()
    except Timeout:
        raise AnynerError(f"{folder}: another training is writing to it: choose another output folder") from None
    try:
        for path in folder.glob(".anyner-*.tmp"):
            path.unlink(missing_ok=True)
        for path in folder.glob(".new.*"):
            shutil.rmtree(path, ignore_errors=True)
        yield
    finally:
        with suppress(OSError):
            (folder / LOCK).unlink()  # while the lock is held: filelock does not take a lock whose file is gone
        lock.release()
        if new:
            with suppress(OSError):  # not empty
                folder.rmdir()


@contextmanager
def lost_processes_reported() -> Iterator[None]:
    """Turns the loss of another process of the training into a one-line error; that process reports the cause itself."""
    try:
        yield
    except RuntimeError as error:  # torch raises nothing more specific
        if not _LOST.search(str(error)):
            raise
        raise AnynerError("another process of this training ended: see its error message") from error


def check_one_process(what: str) -> None:
    """Refuses a distributed launch: only the training of a single model can be distributed."""
    if os.environ.get("WORLD_SIZE", "1") != "1":  # as torchrun and accelerate launch set it
        raise AnynerError(f"{what} runs in one process and finds the GPUs itself: start it without torchrun or accelerate launch")


def is_main_process() -> bool:
    """Whether this is the main one of the processes that train a model."""
    return bool(PartialState().is_main_process)
