"""The graph of a model folder: its computation as ONNX files without weights, which use those of `model.safetensors`.

`graph.json` lists the steps, one file each, and their weights. It is valid for one `config.json`: a model that is retrained with
other settings has no graph until it is exported again.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from anyner.architectures.numpy_head import READ
from anyner.encoding.untrusted import read_json
from anyner.errors import AnynerError, printable
from anyner.settings import Settings
from anyner.storage.files import CONFIG
from anyner.storage.onnx_file import external_tensors

INDEX, PARITY, INT8 = "graph.json", "parity.json", "graph-int8.onnx"
FILES = "graph*.onnx"
TRANSPOSED = ".T"
"""Suffix of the name of a weight that a graph takes transposed; otherwise it would be transposed at every start."""
FORMAT = 1
_MOST_BYTES = 64 << 20
_PARTS = ("architecture", "head", "labels", "encoder", "pretrained")
"""The keys of `config.json` that a graph depends on. Thresholds and options can be changed."""


StepName = Annotated[str, Field(pattern="^[a-z_]{1,40}$")]
"""Part of a file name; the pattern keeps it from leading out of the folder."""


class Graph(Settings):
    format: int = FORMAT
    config_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    """Checksum of the settings that the graph was made for."""
    most_pieces: int | None = Field(ge=1)
    """Maximum number of pieces the encoder can read; None: no limit."""
    pieces: int = Field(ge=1)
    """Rows of the encoder's embedding."""
    table: str | None
    """Name of the encoder's embedding, if the first step takes only the rows that a batch needs, as an input."""
    weights: dict[StepName, tuple[str, ...]]
    """The weights that each step takes, by the name of the step."""
    int8: tuple[str, ...] = ()
    """The weights of the first step in int8: most as integer columns and their scales. Empty: there is no such graph."""


def graph_file(step: str) -> str:
    return "graph.onnx" if step == READ else f"graph-{step}.onnx"


def settings_hash(plain: dict[str, Any]) -> str:
    """Hash of the parsed content of a `config.json`."""
    parts = {key: plain.get(key) for key in _PARTS}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def graph_of(folder: Path) -> Graph | None:
    """The graph of a model folder; None if it has none for its settings."""
    path = folder / INDEX
    if not path.is_file():
        return None
    graph = Graph.of(read_json(path), str(path))
    if graph.format > FORMAT:
        raise AnynerError(f"{path}: written by a newer anyner (format {graph.format}, this one knows {FORMAT}): upgrade anyner")
    fits = graph.config_sha256 == settings_hash(read_json(folder / CONFIG))
    return graph if fits else None


def graph_bytes(folder: Path, file: str, weights: tuple[str, ...]) -> bytes:
    """The file of a step. Its external tensors may only be these weights, which it is given: no other file is read."""
    path = folder / file
    if not path.is_file():
        raise AnynerError(f"{folder}: no {path.name}, which {INDEX} requires: run anyner export {folder}")
    if path.stat().st_size > _MOST_BYTES:
        raise AnynerError(f"{path}: too large: the limit is {_MOST_BYTES >> 20} MB")
    content = path.read_bytes()
    if other := external_tensors(content, str(path)) - set(weights):
        raise AnynerError(f"{path}: takes {printable(min(other)[:80])!r} from another file, which is not allowed")
    return content


def remove_graph(folder: Path) -> None:
    """Deletes the graph of an older model: the index first, as nothing is read without it."""
    for path in (folder / INDEX, folder / PARITY, *folder.glob(FILES)):
        path.unlink(missing_ok=True)
