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

import anyner


def header(what: str) -> dict[str, Any]:
    """The kind of result, the command that made it, when, and on what."""
    command = "python " + shlex.join([Path(sys.argv[0]).as_posix(), *sys.argv[1:]])
    return {"what": what, "command": command, "date": datetime.now(UTC).date().isoformat(), "machine": machine()}


def machine() -> dict[str, str]:
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or platform.machine()
    return {
        "device": device,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "anyner": anyner.__version__,
    }


def write(result: Mapping[str, Any], path: str | Path) -> None:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
