"""Files that are either there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

CONFIG, WEIGHTS, CARD, METRICS, RECIPE = "config.json", "model.safetensors", "README.md", "metrics.json", "recipe.yaml"
EPOCHS = "metrics.jsonl"


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Lets `write` fill a temporary file beside `path`, then puts it in place in one step.

    A link is followed; what is there and is no file (a pipe, a device) is written to as it is.
    """
    if path.exists() and not path.is_file():  # asked before links are followed: those of pipes lead nowhere
        write(path)
        return
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        write(temporary)
        temporary.chmod(0o666 & ~_umask())  # some writers make files that only their owner can read
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
