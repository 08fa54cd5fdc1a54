"""Runs commands in parallel on one GPU: each starts when its dependencies are done and there is memory for it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TRIES = 2


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    command: tuple[str, ...]
    needs: frozenset[str] = frozenset()
    """Names of the jobs that must be done first."""
    gigabytes: float = 7.0


@dataclass(slots=True)
class _Running:
    process: subprocess.Popen[bytes]
    started: float


def add_limits(parser: ArgumentParser, runs: str) -> None:
    parser.add_argument("--minutes", type=float, default=1e6, help="time limit for all trainings together")
    parser.add_argument("--lanes", type=int, default=16, help="maximum number of trainings at once")
    parser.add_argument("--gigabytes", type=float, default=130, help="GPU memory for all of them")
    parser.add_argument("--runs", default=runs, help="folder of logs and models; finished trainings are kept")


def limits_of(arguments: Namespace) -> dict[str, Any]:
    """Keyword arguments of `run_jobs`."""
    return {"lanes": arguments.lanes, "gigabytes": arguments.gigabytes, "seconds": 60 * arguments.minutes}


def run_jobs(jobs: Sequence[Job], folder: Path, *, lanes: int, gigabytes: float, seconds: float) -> list[str]:
    """Runs at most `lanes` jobs at once within this memory; a failed one is retried once. Returns the names of jobs not done.

    The folder gets the logs, and an empty file `done/NAME` for each finished job, which a second call skips. After `seconds`,
    running jobs get a SIGINT, as from Ctrl-C.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # set by a shell for background processes; jobs would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    done, end = folder / "done", time.monotonic() + seconds
    done.mkdir(parents=True, exist_ok=True)
    waiting = {job.name: job for job in jobs if not (done / job.name).exists()}
    every, tries, running, stopping = dict(waiting), dict.fromkeys(waiting, 0), dict[str, _Running](), False
    while running or (waiting and not stopping):
        for name in [name for name, one in running.items() if one.process.poll() is not None]:
            ended = running.pop(name)
            succeeded = ended.process.returncode == 0
            log(f"{name}: {'done' if succeeded else 'failed'} after {time.monotonic() - ended.started:.0f} s")
            if succeeded:
                (done / name).touch()
            elif not stopping and tries[name] < _TRIES:
                waiting = {name: every[name], **waiting}
        if not stopping and time.monotonic() >= end:
            stopping = True
            log(f"time is up: {len(running)} interrupted, {len(waiting)} never started")
            for one in running.values():
                one.process.send_signal(signal.SIGINT)
        if not stopping:
            for job in _ready(waiting.values(), done, [every[name] for name in running], lanes, gigabytes):
                del waiting[job.name]
                tries[job.name] += 1
                running[job.name] = _Running(_start(job, folder), time.monotonic())
            if waiting and not running:
                log(f"cannot start, because what they need failed: {', '.join(waiting)}")
                break
        time.sleep(0.2)
    return [name for name in every if not (done / name).exists()]


def _ready(waiting: Iterable[Job], done: Path, running: Sequence[Job], lanes: int, gigabytes: float) -> list[Job]:
    """The jobs that can start now, in their order. One that is too large for the memory runs alone."""
    ready: list[Job] = []
    for job in waiting:
        together = [*running, *ready]
        fits = sum(one.gigabytes for one in together) + job.gigabytes <= gigabytes or not together
        if len(together) < lanes and fits and all((done / need).exists() for need in job.needs):
            ready.append(job)
    return ready


def _start(job: Job, folder: Path) -> subprocess.Popen[bytes]:
    log(f"{job.name}: started")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONUNBUFFERED": "1"}
    with (folder / f"{job.name}.log").open("ab") as output:  # in a session of its own: a Ctrl-C in the terminal does not reach it
        return subprocess.Popen(job.command, stdout=output, stderr=output, env=environment, start_new_session=True)


def log(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)
