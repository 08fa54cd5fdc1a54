"""What every results file says of itself, and how it is written."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
import transformers

from anyner.storage.files import write_text
from anyner.version import __version__


def header(what: str) -> dict[str, Any]:
    """The kind of result, the command that made it, when, and on what."""
    return {"what": what, "command": command(), "date": datetime.now(UTC).date().isoformat(), "machine": machine()}


def command() -> str:
    """What was typed: a script is named as it lies in the project, the command line by its own name."""
    program = Path(sys.argv[0])
    named = ["anyner"] if program.stem in ("anyner", "__main__") else ["python", program.as_posix()]
    return shlex.join([*named, *sys.argv[1:]])


def machine() -> dict[str, str]:
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or platform.machine()
    return {
        "device": device,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "anyner": __version__,
    }


def write(result: Mapping[str, Any], path: str | Path) -> None:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def corpus_name(corpus: str) -> str:
    """data/genia/test.jsonl.xz -> genia, data/genia/dev.jsonl -> genia-dev, posts.jsonl -> posts, synthetic:test -> synthetic."""
    path = Path(corpus.split(":", maxsplit=1)[0])
    stem = path.name.split(".")[0]
    if stem not in ("train", "dev", "test") or not path.parent.name:
        return stem
    return path.parent.name if stem == "test" else f"{path.parent.name}-{stem}"
