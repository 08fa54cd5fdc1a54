"""Ctrl-C as a request: whoever trains looks at it where everything can be saved."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class StopRequest:
    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def on_ctrl_c(self) -> Iterator[None]:
        """The first Ctrl-C asks; a second one stops at once."""

        def ask(number: int, frame: object) -> None:
            if self.asked:
                raise KeyboardInterrupt
            self.asked = True

        try:
            before = signal.signal(signal.SIGINT, ask)
        except ValueError:  # not in the main thread: no signals there
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
