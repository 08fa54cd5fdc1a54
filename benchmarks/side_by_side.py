"""Runs the trainings behind figures side by side on one GPU, each when what it starts from is there.

python benchmarks/side_by_side.py biaffine-genia-minilm-seed0 set_gner-cadec-minilm-seed1    again, as their results files say
python benchmarks/side_by_side.py --commands variants.txt --minutes 25                       a command a line, named NAME: COMMAND

What they need (preparations.py) is made first. What is done is not done again by a second call; after the time it is given
trainings are interrupted as by Ctrl-C, and scored with their best epoch so far.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from plainly import plainly
from preparations import FOLDS, PREPARATIONS, Preparation

HERE = Path(__file__).resolve().parent
LARGE, SMALL = 17.0, 7.0
"""Gigabytes that a training of a large and of a small encoder takes, where no results file tells."""
SPARE = 1.3
"""What a process holds over the peak of its tensors."""


@dataclass(frozen=True, slots=True)
class Job:
    name: str
    command: tuple[str, ...]
    needs: frozenset[str] = frozenset()
    """Names of jobs that must be done before."""
    gigabytes: float = SMALL


def jobs_of(commands: Mapping[str, str], gigabytes: Mapping[str, float]) -> list[Job]:
    """The jobs of named commands, and before each those that make what it starts from."""
    found: dict[str, Job] = {}
    for name, command in commands.items():
        _add(found, name, command, gigabytes=gigabytes.get(name))
    return list(found.values())


def _add(found: dict[str, Job], name: str, command: str, *, after: Iterable[str] = (), gigabytes: float | None = None) -> str:
    if name not in found:
        needs = frozenset([*after, *(_prepared(found, one) for one in _starts_from(command))])
        found[name] = Job(name, _as_module(command), needs, gigabytes or _guessed(command))
    return name


def _guessed(command: str) -> float:
    """By its encoder, or else its recipe; what is heard may be of another encoder."""
    return LARGE if re.search(r"encoder\.source=\S*mpnet|recipes/\S*mpnet\S*\.yaml(?!.*encoder\.source=)", command) else SMALL


def _starts_from(command: str) -> list[Preparation]:
    changes = [after for before, after in pairwise(shlex.split(command)) if before == "--set"]
    named = {path for change in changes for path in re.split(r"[=,\[\]]", change)}
    return [one for path, one in PREPARATIONS.items() if path in named]


def _prepared(found: dict[str, Job], preparation: Preparation) -> str:
    name = preparation.path.removeprefix("runs/").removesuffix("/opinions.jsonl").replace("/", "-")
    numbers = range(1, FOLDS + 1) if preparation.folds else ()
    folds = [_add(found, f"{name}-{number}", f"{preparation.command} --fold {number}") for number in numbers]
    return _add(found, name, preparation.command, after=folds)


def _as_module(command: str) -> tuple[str, ...]:
    """The command with this interpreter: what is installed elsewhere is not meant."""
    first, *rest = shlex.split(command)
    return (sys.executable, *(("-m", "anyner") if first == "anyner" else ()), *rest)


@dataclass(slots=True)
class _Running:
    process: subprocess.Popen[bytes]
    began: float


def run(jobs: Sequence[Job], folder: Path, *, lanes: int, gigabytes: float, seconds: float) -> list[str]:
    """Runs jobs, at most `lanes` at once and in so much memory; each that fails once more. Returns the names of those not done.

    What they print goes into files of the folder, where a file in `done` stands for each that is.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background a shell has it ignored, and jobs would inherit that
        signal.signal(signal.SIGINT, signal.default_int_handler)
    done, end = folder / "done", time.monotonic() + seconds
    done.mkdir(parents=True, exist_ok=True)
    waiting = {job.name: job for job in jobs if not (done / job.name).exists()}
    everything, tries, running, stopping = dict(waiting), dict.fromkeys(waiting, 0), dict[str, _Running](), False
    while running or (waiting and not stopping):
        for name in [name for name, one in running.items() if one.process.poll() is not None]:
            ended = running.pop(name)
            fine = ended.process.returncode == 0
            _tell(f"{name}: {'done' if fine else 'failed'} after {time.monotonic() - ended.began:.0f} s")
            if fine:
                (done / name).touch()
            elif not stopping and tries[name] < 2:
                waiting = {name: everything[name], **waiting}
        if not stopping and time.monotonic() >= end:
            stopping = True
            _tell(f"time is up: {len(running)} interrupted, {len(waiting)} never begun")
            for one in running.values():
                one.process.send_signal(signal.SIGINT)
        if not stopping:
            for job in _ready(waiting.values(), done, [everything[name] for name in running], lanes, gigabytes):
                del waiting[job.name]
                tries[job.name] += 1
                running[job.name] = _Running(_started(job, folder), time.monotonic())
            if waiting and not running:
                _tell(f"nothing more can begin: {', '.join(waiting)}")
                break
        time.sleep(0.2)
    return [name for name in everything if not (done / name).exists()]


def _ready(waiting: Iterable[Job], done: Path, running: Sequence[Job], lanes: int, gigabytes: float) -> list[Job]:
    """Those that may begin now, in their order; one that is too large for the memory at all begins alone."""
    chosen: list[Job] = []
    for job in waiting:
        together = [*running, *chosen]
        room = sum(one.gigabytes for one in together) + job.gigabytes <= gigabytes or not together
        if len(together) < lanes and room and all((done / need).exists() for need in job.needs):
            chosen.append(job)
    return chosen


def _started(job: Job, folder: Path) -> subprocess.Popen[bytes]:
    _tell(f"{job.name}: begins")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONUNBUFFERED": "1"}
    with (folder / f"{job.name}.log").open("ab") as log:  # its own session: Ctrl-C here reaches it only as we send it
        return subprocess.Popen(job.command, stdout=log, stderr=log, env=environment, start_new_session=True)


def _tell(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="*", help="names of results files whose trainings are run again")
    parser.add_argument("--commands", help="a file with more of them, NAME: COMMAND a line")
    parser.add_argument("--lanes", type=int, default=16, help="most at once")
    parser.add_argument("--gigabytes", type=float, default=130, help="memory for all of them")
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--list", action="store_true", help="only say what would be run")
    parser.add_argument("-o", "--output", default="runs/side-by-side", help="where logs go, and what is done is remembered")
    arguments = parser.parse_args()
    told = {name: json.loads((HERE / "results" / f"{name}.json").read_text(encoding="utf-8")) for name in arguments.results}
    commands = {name: result["command"] for name, result in told.items()}
    if arguments.commands:
        lines = Path(arguments.commands).read_text(encoding="utf-8").splitlines()
        commands |= dict((part.strip() for part in line.split(":", 1)) for line in lines if line.strip())
    known = {name: SPARE * result["peak_gpu_bytes"] / 1e9 for name, result in told.items() if result.get("peak_gpu_bytes")}
    jobs = jobs_of(commands, known)
    if arguments.list:
        for job in jobs:
            print(
                f"{job.name}: {shlex.join(job.command[1:])}" + (f"  (after {', '.join(sorted(job.needs))})" if job.needs else "")
            )
        return 0
    seconds = 60 * arguments.minutes
    left = run(jobs, Path(arguments.output), lanes=arguments.lanes, gigabytes=arguments.gigabytes, seconds=seconds)
    if left:
        _tell(f"not done: {', '.join(left)}")
    return 1 if left else 0


if __name__ == "__main__":
    plainly(main)
