"""Files that are either there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

CONFIG, WEIGHTS, CARD, METRICS, RECIPE = "config.json", "model.safetensors", "README.md", "metrics.json", "recipe.yaml"


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Lets `write` fill a temporary file beside `path`, then puts it in place in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
