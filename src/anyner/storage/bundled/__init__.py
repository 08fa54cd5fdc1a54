"""The models that ship inside the package: every folder here that has a `config.json`."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent
BUNDLED = "bundled:"
"""Before the name of a bundled model: where something else could be meant, as an encoder by its name on the hub."""


def bundled_names() -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in _HERE.glob("*/config.json")))


def bundled_folder(name: str) -> Path | None:
    return _HERE / name if name in bundled_names() else None
