"""Trainings in processes of their own, so that a test may kill them or run several side by side."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
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


def together(world: int, work: Callable[..., None], *arguments: Any) -> list[int | None]:
    """Runs `work` in the processes of one training, as `accelerate launch` or `torchrun` would start them; their exit codes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [started(_one_of, number, world, port, work, *arguments) for number in range(world)]
    for process in processes:
        process.join(120)
        process.kill()
    return [process.exitcode for process in processes]


def _one_of(number: int, world: int, port: int, work: Callable[..., None], *arguments: Any) -> None:
    os.environ |= {
        "RANK": str(number),
        "LOCAL_RANK": str(number),
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
    }
    work(*arguments)


def without_dropout(work: Callable[..., None], *arguments: Any) -> None:
    """Without dropout any number of processes learns the same. Only the dropout of the head is a setting."""
    import torch
    from transformers import BertConfig

    from anyner.encoding import pretrained

    def plain(**fields: Any) -> BertConfig:
        return BertConfig(**fields, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)

    pretrained.BertConfig = plain  # type: ignore[assignment, misc]
    torch.nn.Dropout.forward = lambda _, states: states  # type: ignore[method-assign]
    work(*arguments)


def recorded(path: Path, work: Callable[..., None], *arguments: Any) -> None:
    """Records the losses of every step."""
    from anyner.training.loop import Trainer
    from anyner.training.losses import LossSums
    from anyner.training.processes import is_main_process

    whole, steps = Trainer._train_step, list[dict[str, float]]()

    def step(trainer: Trainer, passages: Any, epoch: int, number: int, sums: LossSums) -> None:
        own = LossSums()
        whole(trainer, passages, epoch, number, own)
        steps.append(own.means())

    Trainer._train_step = step  # type: ignore[method-assign]
    work(*arguments)
    if is_main_process():
        path.write_text(json.dumps(steps), encoding="utf-8")
