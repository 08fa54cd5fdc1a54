"""Ctrl-C, or SIGTERM as a scheduler sends it, as a request: whoever trains looks at it where everything can be saved."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import current_thread, main_thread


class StopRequest:
    def __init__(self) -> None:
        self.asked = False
        self._number: int = signal.SIGINT

    @property
    def exit_code(self) -> int:
        """As a shell gives it: 130 after Ctrl-C, 143 after SIGTERM."""
        return 128 + self._number

    @contextmanager
    def on_ctrl_c(self) -> Iterator[None]:
        """The first Ctrl-C or SIGTERM asks; a second one stops at once."""

        def ask(number: int, frame: object) -> None:
            again, self.asked, self._number = self.asked, True, number
            if again and number == signal.SIGTERM:
                sys.exit(self.exit_code)
            if again:
                raise KeyboardInterrupt

        with ExitStack() as handlers:
            if current_thread() is main_thread():  # no other may handle signals
                for number in (signal.SIGINT, signal.SIGTERM):
                    # None: not set by Python, so there is nothing that it could put back
                    before = signal.signal(number, ask) or signal.SIG_DFL
                    handlers.callback(signal.signal, number, before)
            yield
