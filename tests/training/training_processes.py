"""Trainings in processes of their own, so that a test may kill them or run several side by side."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from anyner.training.config import Recipe

# Children start from a process that has only imported the library: quick, and no thread pool of the tests is copied.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["anyner.training.run"])
INTERRUPTED = 7
"""Exit code of a training that ended with `Interrupted`."""


def started(work: Callable[..., None], *arguments: Any) -> Any:
    process = _context.Process(target=work, args=arguments)
    process.start()
    return process


def exit_code(work: Callable[..., None], *arguments: Any) -> int | None:
    process = started(work, *arguments)
    process.join(120)
    if process.exitcode is None:
        process.kill()
    return process.exitcode


CHECKPOINT_STEPS = 3
"""Steps between two checkpoints of a training in a process of its own."""


def train(recipe: Recipe, folder: Path, resume: bool = False) -> None:
    import torch

    from anyner.training.loop import Trainer
    from anyner.training.run import run

    torch.set_num_threads(1)
    Trainer._checkpoint_due = lambda trainer: trainer.place.step % CHECKPOINT_STEPS == 0  # type: ignore[method-assign]
    run(recipe, folder, resume)


def train_until(recipe: Recipe, folder: Path, resume: bool, step: int, signal_number: int) -> None:
    """Sends itself the signal right after the step, and after a checkpoint if one is due at it."""
    from anyner.training.loop import Trainer
    from anyner.training.processes import Interrupted

    whole = Trainer._pause_if_due

    def with_signal(trainer: Trainer, *arguments: Any) -> None:
        whole(trainer, *arguments)
        if trainer.place.step == step:
            os.kill(os.getpid(), signal_number)

    Trainer._pause_if_due = with_signal  # type: ignore[method-assign]
    try:
        train(recipe, folder, resume)
    except Interrupted:
        sys.exit(INTERRUPTED)


def killed_at(recipe: Recipe, folder: Path, step: int, resume: bool = False) -> None:
    """Trains and is killed by SIGKILL at the step."""
    assert exit_code(train_until, recipe, folder, resume, step, signal.SIGKILL) == -signal.SIGKILL


def train_as_one_of(recipe: Recipe, folder: Path, number: int, world: int, port: int) -> None:
    """One of several processes of one training, as `accelerate launch` or `torchrun` would start it."""
    os.environ |= {
        "RANK": str(number),
        "LOCAL_RANK": str(number),
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
    }
    train(recipe, folder)
