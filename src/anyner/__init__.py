"""Named entities of any shape: flat, nested, overlapping, discontinuous.

Importing this package does not import torch: what needs it is loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from anyner.corpora.corpus import Corpus
from anyner.document import Document, Entity
from anyner.errors import AnynerError

if TYPE_CHECKING:
    from anyner.api import evaluate, train
    from anyner.corpora.reading import read
    from anyner.corpora.writing import write
    from anyner.inference.recognizer import Recognizer
    from anyner.storage.load import load

__version__ = "0.1.0"

__all__ = ["AnynerError", "Corpus", "Document", "Entity", "Recognizer", "evaluate", "load", "read", "train", "write"]

_LAZY = {
    "Recognizer": "anyner.inference.recognizer",
    "evaluate": "anyner.api",
    "load": "anyner.storage.load",
    "read": "anyner.corpora.reading",
    "train": "anyner.api",
    "write": "anyner.corpora.writing",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'anyner' has no attribute {name!r}")
