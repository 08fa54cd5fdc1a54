"""Stores a calibration in a model folder, or in a copy of one. Weights and graph stay as they are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from anyner.encoding.untrusted import read_json
from anyner.errors import AnynerError
from anyner.inference.config import Calibration
from anyner.storage.files import CONFIG, write_text
from anyner.storage.load import check_own


def check_target(name: str | Path, folder: Path, output: Path | None) -> None:
    """Refuses, before any work is done, to change a bundled or hub model, or to write a copy to a path that exists."""
    if output is not None:
        if output.exists():
            raise AnynerError(f"{output}: already exists: choose another folder for the copy")
    else:
        check_own(name, folder, "write a calibrated copy with -o (output=)")


def store_calibration(folder: Path, calibration: Calibration, output: Path | None = None) -> Path:
    """Writes it to `config.json`, replacing an earlier one; with `output`, to a copy of the folder, which is created
    atomically."""
    if output is None:
        _write(folder / CONFIG, calibration)
        return folder
    output.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=output.parent, prefix=f".{output.name}.") as temporary:
        copy = Path(shutil.copytree(folder, Path(temporary) / "copy"))
        _write(copy / CONFIG, calibration)
        copy.rename(output)
    return output


def _write(path: Path, calibration: Calibration) -> None:
    # The raw file, old names of settings included: the graph belongs to exactly these.
    plain: dict[str, Any] = read_json(path)
    plain["calibration"] = calibration.model_dump(mode="json")
    write_text(path, json.dumps(plain, indent=2, ensure_ascii=False) + "\n")
