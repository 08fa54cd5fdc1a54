"""The unfinished output of a run: a folder of parts next to it, one for each chunk, so that a killed run can be resumed.

Parts are written atomically. When all of them are there, they are joined into the output and the folder is removed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from anyner.corpora.textfiles import temporary_beside
from anyner.errors import AnynerError
from anyner.storage.files import write_whole

_ENDING, _JOURNAL = ".parts", "run.json"


class Parts:
    def __init__(self, output: Path, run: dict[str, Any]) -> None:
        """`run` identifies the run: the folder of another run is an error."""
        self.output, self.folder = output, output.with_name(output.name + _ENDING)
        written = json.dumps(run, indent=1, sort_keys=True) + "\n"
        journal = self.folder / _JOURNAL
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            self._check(journal, written)
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(journal, lambda path: path.write_text(written, encoding="utf-8", errors="backslashreplace"))

    def _check(self, journal: Path, written: str) -> None:
        try:
            old = journal.read_text(encoding="utf-8")
        except OSError:
            raise AnynerError(f"{self.folder}: holds no unfinished output: move it away, or choose another output") from None
        if old != written:
            there = _parsed(old)
            differing = [key for key, value in _parsed(written).items() if there.get(key) != value]
            raise AnynerError(
                f"{self.folder}: holds the unfinished output of another run (different {', '.join(differing)}): "
                "delete it, or choose another output"
            )

    def __len__(self) -> int:
        """The number of finished parts."""
        return sum(1 for path in self.folder.iterdir() if path.name.isdecimal())

    def remove_if_empty(self) -> None:
        if not len(self):
            shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, number: int) -> Path:
        return self.folder / f"{number:09d}"

    def join(self, number: int, joined: Callable[[Sequence[Path], Path], None]) -> None:
        """Joins the first parts, as many as `number`, into the output."""
        write_whole(self.output, lambda temporary: joined([self.path(one) for one in range(number)], temporary))
        away = temporary_beside(self.folder)
        self.folder.rename(away)  # a kill during the removal must not leave what looks like an unfinished run
        shutil.rmtree(away, ignore_errors=True)


def write_part(path: Path, fill: Callable[[Path], None]) -> None:
    """Writes a part atomically, synced to the disk."""

    def synced(temporary: Path) -> None:
        fill(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())

    write_whole(path, synced)


def _parsed(written: str) -> dict[str, Any]:
    try:
        plain = json.loads(written)
    except ValueError:
        plain = {}
    return plain if isinstance(plain, dict) else {}
