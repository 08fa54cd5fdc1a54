"""Stand-ins for trainings in processes of their own. They are here because a process imports the module of what it runs, and
importing what the tests need takes it longer than running.
"""

from __future__ import annotations

import time
from pathlib import Path

from anyner.errors import AnynerError
from anyner.training.processes import Interrupted, StopRequest
from anyner.training.progress import Listener


def fails(listener: Listener) -> None:
    listener.note("begins")
    raise AnynerError("the disk is full")


def waits(marks: Path, listener: Listener) -> None:
    """As a training does: a signal is a request, which it answers where everything is saved."""
    stop = StopRequest()
    with stop.on_ctrl_c():
        listener.note("waits")
        while not stop.asked:
            time.sleep(0.05)
    (marks / "stopped").touch()
    raise Interrupted(stop.exit_code)
