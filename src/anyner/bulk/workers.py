"""Processes that predict chunks: this one, several on CPUs that share the memory of one model, or one per device."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

from anyner.bulk.chunks import Chunk, Done
from anyner.bulk.forms import Form
from anyner.bulk.parts import write_part
from anyner.errors import AnynerError
from anyner.inference.onnx_runtime import OnnxRuntime
from anyner.inference.recognizer import Recognizer

Load = Callable[[str | None], Recognizer]
"""Loads the model on a device."""


@dataclass(frozen=True, slots=True)
class Task:
    """A chunk, and the file that its predicted documents are written to."""

    chunk: Chunk
    path: Path


@dataclass(frozen=True, slots=True)
class Work:
    """How chunks are predicted and written; sent to every process."""

    form: Form
    chosen: Mapping[str, Any]
    """Keyword arguments of `Recognizer.stream`."""

    def do(self, recognizer: Recognizer, task: Task) -> Done:
        documents = list(recognizer.stream(task.chunk.documents, **self.chosen))
        write_part(task.path, lambda path: self.form.write(documents, task.chunk.rows, path))
        return sum(map(Done.of, documents), Done(0))


def in_this_process(recognizer: Recognizer, work: Work, tasks: Iterable[Task]) -> Iterator[Done]:
    for task in tasks:
        yield work.do(recognizer, task)


def in_processes(
    recognizer: Recognizer, load: Load, work: Work, tasks: Iterable[Task], devices: Sequence[str | None]
) -> Iterator[Done]:
    """One process per device, `None` for a CPU; results are in the order of the tasks.

    On CPUs, processes share the memory of the recognizer if they can be forked; others load the model themselves. Torch cannot
    be forked: it would wait forever for threads that the fork does not have.
    """
    shared = not any(devices) and isinstance(recognizer.runtime, OnnxRuntime) and "fork" in get_all_start_methods()
    context = get_context("fork" if shared else "spawn")
    waiting = context.SimpleQueue()
    for device in devices:
        waiting.put(device)
    setup = _Setup(recognizer if shared else load, work, os.getpid())
    pool = ProcessPoolExecutor(len(devices), context, _begin, (setup, waiting))
    running: deque[Future[Done]] = deque()
    try:
        for task in tasks:
            running.append(pool.submit(_work, task))
            if len(running) > 2 * len(devices):  # one running and one queued for each
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    except BrokenProcessPool:
        message = "a worker process ended, perhaps out of memory: repeat the command to continue"
        raise AnynerError(message) from None
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _Setup:
    model: Recognizer | Load
    work: Work
    parent: int


_mine: tuple[Recognizer, Work] | None = None
"""The model and the work of a worker process."""


def _begin(setup: _Setup, devices: SimpleQueue[str | None]) -> None:
    global _mine  # noqa: PLW0603
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process gets it as well, and ends its workers
    threading.Thread(target=_end_with, args=(setup.parent,), daemon=True).start()
    device = devices.get()
    _mine = setup.model if isinstance(setup.model, Recognizer) else setup.model(device), setup.work


def _end_with(parent: int) -> None:
    """Ends this process when its parent is gone: a killed parent cannot do it."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _work(task: Task) -> Done:
    if _mine is None:
        raise RuntimeError("a worker process without a model")
    recognizer, work = _mine
    return work.do(recognizer, task)
