"""Named entities of any shape: flat, nested, overlapping, discontinuous.

Submodules are imported on first use: importing the package is fast and does not import torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from anyner.document import set_html_renderer
from anyner.errors import AnynerError
from anyner.version import __version__

if TYPE_CHECKING:
    from anyner.api import calibrate, evaluate, train
    from anyner.corpora.corpus import Corpus
    from anyner.corpora.reading import read
    from anyner.corpora.writing import write
    from anyner.document import Document, Entity
    from anyner.inference.recognizer import Recognizer
    from anyner.integrations.frames import predict_frame
    from anyner.storage.load import load
    from anyner.view.render import render

__all__ = [
    "AnynerError",
    "Corpus",
    "Document",
    "Entity",
    "Recognizer",
    "__version__",
    "calibrate",
    "evaluate",
    "load",
    "predict_frame",
    "read",
    "render",
    "train",
    "write",
]

_LAZY = {
    "Corpus": "anyner.corpora.corpus",
    "Document": "anyner.document",
    "Entity": "anyner.document",
    "Recognizer": "anyner.inference.recognizer",
    "calibrate": "anyner.api",
    "evaluate": "anyner.api",
    "load": "anyner.storage.load",
    "predict_frame": "anyner.integrations.frames",
    "read": "anyner.corpora.reading",
    "render": "anyner.view.render",
    "train": "anyner.api",
    "write": "anyner.corpora.writing",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'anyner' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names only, whether or not they have been loaded yet."""
    return sorted(__all__)


set_html_renderer(lambda document: import_module("anyner.view.html").piece([document]))
