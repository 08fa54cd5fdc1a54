"""Stand-ins for trainings in child processes. They have a module of their own because a child imports the module of what it
runs, and importing what the tests need would take longer than the run.
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
    """Like a training: a signal is a request, and the process ends where everything is saved."""
    stop = StopRequest()
    with stop.on_ctrl_c():
        listener.note("waits")
        while not stop.asked:
            time.sleep(0.05)
    (marks / "stopped").touch()
    raise Interrupted(stop.exit_code)
