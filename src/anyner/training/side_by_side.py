"""Trainings in parallel, with one process per GPU."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.queues import Queue
from queue import Empty
from typing import NamedTuple, Protocol

import torch

from anyner.errors import AnynerError
from anyner.training.processes import Interrupted, StopRequest
from anyner.training.progress import EpochRecord, Listener, epoch_line

_POLL = 0.2
"""Seconds between two checks of the processes."""


class Training(Protocol):
    """Runs in another process, so it must be picklable."""

    def __call__(self, *, listener: Listener) -> object: ...


class _Line(NamedTuple):
    training: str
    text: str
    is_error: bool = False


def gpus() -> list[str]:
    """The visible GPUs, as CUDA_VISIBLE_DEVICES names them."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return named.split(",") if named else list(map(str, range(torch.cuda.device_count())))


def side_by_side(trainings: Mapping[str, Training], devices: Sequence[str], listener: Listener) -> None:
    """Runs trainings in parallel, on each device one at a time. If one fails, or on Ctrl-C or SIGTERM, all save and stop."""
    context, stop = get_context("spawn"), StopRequest()
    lines: Queue[_Line] = context.Queue()
    shares = [dict(list(trainings.items())[number :: len(devices)]) for number in range(len(devices))]
    processes = [context.Process(target=_train, args=(*one, lines)) for one in zip(devices, shares, strict=True) if one[1]]
    errors: list[_Line] = []
    stopping = False
    with stop.on_ctrl_c():
        for process in processes:
            process.start()
        while any(process.is_alive() for process in processes) or not lines.empty():
            with suppress(Empty):
                line = lines.get(timeout=_POLL)
                if line.is_error:
                    errors.append(line)
                else:
                    listener.note(f"{line.training}: {line.text}")
            if not stopping and (stop.asked or any(process.exitcode for process in processes)):
                stopping = True
                for process in processes:
                    process.terminate()  # SIGTERM, on which a training saves a checkpoint
    if stop.asked:
        raise Interrupted(stop.exit_code)
    if errors:
        raise AnynerError(f"{errors[0].training}: {errors[0].text}")
    if codes := [process.exitcode for process in processes if process.exitcode]:
        raise AnynerError(f"a training ended with exit code {codes[0]}: repeat the command to resume")


class _QueueListener(Listener):
    """Sends notes to the parent process."""

    def __init__(self, training: str, lines: Queue[_Line]) -> None:
        self._training, self._lines = training, lines

    def note(self, line: str) -> None:
        self._lines.put(_Line(self._training, line))

    def epoch(self, record: EpochRecord) -> None:
        self.note(epoch_line(record))


def _train(device: str, trainings: Mapping[str, Training], lines: Queue[_Line]) -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = device  # before torch looks for GPUs
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # Ctrl-C reaches the parent alone, which stops each child once: a second signal would lose steps
    for name, training in trainings.items():
        try:
            training(listener=_QueueListener(name, lines))
        except Interrupted as stopped:
            sys.exit(stopped.exit_code)
        except AnynerError as error:
            lines.put(_Line(name, str(error), is_error=True))
            sys.exit(1)
