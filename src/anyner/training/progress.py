"""Progress of a training: a live table on a terminal, plain lines elsewhere, `metrics.jsonl` always."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from anyner.errors import printable
from anyner.storage.files import EPOCHS, room_for, write_text
from anyner.view.training import PICTURE, training_picture

_SECONDS_BETWEEN_LINES = 60
"""Seconds between two lines with the time left in a log; the first comes that long after the start."""
_SECONDS_UNSAID, _SECONDS_OF_A_TICK = 3, 1.0
"""In a log, what runs for longer than this is named, unless there was a line in the last minute."""


@dataclass(frozen=True, slots=True)
class EpochRecord:
    """One line of metrics.jsonl."""

    epoch: int
    step: int
    losses: dict[str, float]
    dev_precision: float | None
    dev_recall: float | None
    dev_f1: float | None
    """Like precision and recall, None for a refit and for epochs that are not scored."""
    dev_discontinuous_f1: float | None
    """F1 of the discontinuous entities; None also if dev has none."""
    thresholds: dict[str, float]
    sentences_per_second: float
    seconds: float
    """Training time so far, without interruptions."""
    best: bool


class Listener:
    """Receives the progress of a training. This base class ignores it."""

    def note(self, line: str) -> None:
        pass

    def running(self, what: str) -> AbstractContextManager[object]:
        """Says what runs while the block runs, e.g. `scoring dev`."""
        return nullcontext()

    def step(self, epoch: int, done: float, loss: float | None, seconds_left: float) -> None:
        pass

    def epoch(self, record: EpochRecord) -> None:
        pass


class TerminalListener(Listener):
    """A live table with the time left when stderr is a terminal; when it is not, a line per epoch and one per minute.

    `opening` is printed before the first note: not at all if the data cannot be read.
    """

    _said = -math.inf
    """Time of the last line with a status, of any listener: a command may use several."""

    def __init__(self, opening: str | None = None) -> None:
        self._console = Console(file=sys.stderr)
        self._opening = opening
        self._records: list[EpochRecord] = []
        self._status = ""
        self._shown = time.monotonic()
        self._live = Live(get_renderable=self._drawn, console=self._console) if self._console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._status = ""
        if self._live is not None:
            self._live.transient = not self._records
            self._live.stop()

    def note(self, line: str) -> None:
        opening, self._opening = self._opening, None
        for one in (opening, line) if opening else (line,):
            self._print(one)

    def _print(self, line: str) -> None:
        self._console.print(Text(printable(line)), soft_wrap=True)

    @contextmanager
    def running(self, what: str) -> Iterator[None]:
        with _ticking(lambda seconds: self._name(what, seconds)):
            yield
        self._status = ""

    def _name(self, what: str, seconds: float) -> None:
        """Shows what has been running for some seconds."""
        self._status = f"{what}, {clock(seconds)}"
        now = time.monotonic()
        if self._live is None and seconds >= _SECONDS_UNSAID and now - TerminalListener._said >= _SECONDS_BETWEEN_LINES:
            self._shown = TerminalListener._said = now
            self._print(self._status)

    def step(self, epoch: int, done: float, loss: float | None, seconds_left: float) -> None:
        shown = f", loss {loss:.4f}" if loss is not None else ""
        self._status = f"epoch {epoch}: {done:4.0%}{shown}, {clock(seconds_left)} left"
        if self._live is None and time.monotonic() - self._shown >= _SECONDS_BETWEEN_LINES:
            self._shown = TerminalListener._said = time.monotonic()
            self.note(self._status)

    def epoch(self, record: EpochRecord) -> None:
        self._records.append(record)
        if self._live is None:
            self.note(epoch_line(record))

    def _drawn(self) -> Group:
        if not self._records:
            return Group(Text(printable(self._status)))
        discontinuous = any(record.dev_discontinuous_f1 is not None for record in self._records)
        dev = ("dev P", "dev R", "dev F1", "disc. F1")[: 4 if discontinuous else 3]
        table = Table("epoch", "loss", *dev, "sentences/s", "time", box=None, header_style="bold")
        for record in self._records[-30:]:
            table.add_row(
                str(record.epoch),
                " ".join(f"{value:.4f}" for value in record.losses.values()),
                *_dev(record)[: len(dev)],
                f"{record.sentences_per_second:,.0f}",
                clock(record.seconds),
                style="green" if record.best else None,
            )
        return Group(table, Text(self._status))


@contextmanager
def _ticking(tell: Callable[[float], None]) -> Iterator[None]:
    """Calls `tell` with the seconds so far, about once a second, from a thread that ends with the block."""
    began, ended = time.monotonic(), threading.Event()

    def tick() -> None:
        while not ended.wait(_SECONDS_OF_A_TICK):
            tell(time.monotonic() - began)

    thread = threading.Thread(target=tick, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class MetricsFile:
    """`metrics.jsonl`: one line per epoch; on resuming, lines after the checkpoint are removed. Only one process writes it."""

    def __init__(self, path: Path, keep: int, writes: bool = True) -> None:
        self._path, self._writes = path, writes
        self.records = keep
        if writes:
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)[:keep] if path.is_file() else []
            write_text(path, "".join(lines))
            self.records = len(lines)

    def add(self, record: EpochRecord) -> None:
        self.records += 1
        if self._writes:
            with room_for(self._path), self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(record), allow_nan=False) + "\n")
            if record.dev_f1 is not None:  # 20 times at most
                draw_training(self._path.parent)


def draw_training(folder: Path) -> None:
    """Draws the losses and dev scores of the epochs so far."""
    with (folder / EPOCHS).open(encoding="utf-8") as lines:
        write_text(folder / PICTURE, training_picture(lines))


def epoch_line(record: EpochRecord) -> str:
    losses = " ".join(f"{name} {value:.4f}" for name, value in record.losses.items())
    scores = zip(("P", "R", "F1", "discontinuous F1"), _dev(record), strict=True)
    dev = "" if record.dev_f1 is None else f", dev {' '.join(f'{name} {value}%' for name, value in scores if value)}"
    rate = f"{record.sentences_per_second:,.0f} sentences/s"
    return f"epoch {record.epoch}: loss {losses}{dev}, {rate}, {clock(record.seconds)}{' *' if record.best else ''}"


def _dev(record: EpochRecord) -> list[str]:
    """Precision, recall, F1 and F1 of the discontinuous entities, in percent, or nothing."""
    scores = (record.dev_precision, record.dev_recall, record.dev_f1, record.dev_discontinuous_f1)
    return ["" if value is None else f"{100 * value:.2f}" for value in scores]


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
