"""Architectures by name: every folder beside this file, and those that other packages register as entry points.

Settings load without torch; heads do not.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from anyner.architectures.settings import HeadConfig
from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.architectures.base import Head
    from anyner.architectures.numpy_head import NumpyHead

ENTRY_POINTS = "anyner.architectures"
"""Third parties register `name = "package.folder"` here; the folder has `config.Config` and `head.Head`, like ours."""


@cache
def _modules() -> dict[str, str]:
    own = (path.parent.name for path in sorted(Path(__file__).parent.glob("*/head.py")))
    found = {name: f"{__package__}.{name}" for name in own}
    for point in entry_points(group=ENTRY_POINTS):
        found.setdefault(point.name, point.value)
    return found


def register(name: str, package: str) -> None:
    """Registers the architecture of a package in this process, without installing anything."""
    _modules()[name] = package


def names() -> tuple[str, ...]:
    return tuple(sorted(_modules()))


def config_class(name: str) -> type[HeadConfig]:
    """The settings of an architecture; imports no torch."""
    found: type[HeadConfig] = import_module(_module(name) + ".config").Config
    return found


def head_class(name: str) -> type[Head]:
    found: type[Head] = import_module(_module(name) + ".head").Head
    return found


def numpy_head_class(name: str) -> type[NumpyHead]:
    """The torch-free head of an architecture that can be exported."""
    module = _module(name) + ".numpy_head"
    if find_spec(module) is None:
        raise AnynerError(f"{name} runs in torch only: it has no numpy_head.py")
    found: type[NumpyHead] = import_module(module).NumpyHead
    return found


def _module(name: str) -> str:
    module = _modules().get(name)
    if module is None:
        raise AnynerError(f"unknown architecture {name!r}: expected one of {', '.join(names())}")
    return module
