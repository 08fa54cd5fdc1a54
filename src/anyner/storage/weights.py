"""The weights file, read with numpy alone: float32, bfloat16, or int8 rows with a scale for every few columns."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError

from anyner.encoding.stored import stored_shapes
from anyner.errors import AnynerError, first_line
from anyner.storage.files import CONFIG, WEIGHTS

Array = NDArray[Any]
ROWS, SCALE = ".int8_rows", ".int8_scale"
_TYPES = {
    "F32": "<f4",
    "F16": "<f2",
    "F64": "<f8",
    "BF16": "<u2",
    "I8": "i1",
    "U8": "u1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
}
_TYPES["BOOL"] = "?"
_LARGEST_SCALE = 1e36
"""Times 127 it is still a float32."""


def weights_file(folder: Path) -> Path:
    path = folder / WEIGHTS
    if not path.is_file():
        raise AnynerError(f"{folder}: no {WEIGHTS} (weights in other forms, pickles above all, are never read)")
    return path


def read_weights(path: Path, expected: str | None) -> dict[str, Array]:
    """All weights by name, in float32 whatever they were stored as; whole numbers as they are.

    `expected` is the file's sha256, if known.
    """
    try:
        stored_shapes(path)  # refuses what is not a whole file of known types
        weights = from_stored(_stored(path), str(path))
        if expected is not None and sha256_of(path) != expected:
            raise AnynerError(f"{path}: not the file that {CONFIG} was saved with, or damaged: its sha256 differs")
    except (SafetensorError, OSError) as error:
        raise AnynerError(f"{path}: not a whole safetensors file (pickles are refused): {first_line(error)}") from None
    return weights


def _stored(path: Path) -> dict[str, Array]:
    """Every tensor of the file; bfloat16, which numpy does not have, as float32."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        tensors: dict[str, Array] = {}
        for name, own in header.items():
            if name != "__metadata__":
                start, stop = own["data_offsets"]
                file.seek(8 + size + start)
                array = np.frombuffer(bytearray(file.read(stop - start)), _TYPES[own["dtype"]]).reshape(own["shape"])
                tensors[name] = (array.astype(np.uint32) << 16).view(np.float32) if own["dtype"] == "BF16" else array
    return tensors


def whole_shapes(stored: Mapping[str, tuple[int, ...]], where: str) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights that `from_stored` would give, from those of the tensors in the file."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in stored.items():
        if name.endswith(ROWS):
            whole = name.removesuffix(ROWS)
            scale = stored.get(whole + SCALE)
            if scale is None or whole in stored:
                raise AnynerError(f"{where}: the scale of {whole} is missing, or it is stored twice")
            if not scale or scale[:-1] != shape[:-1] or not math.prod(scale) or shape[-1] % scale[-1]:
                raise AnynerError(f"{where}: the scale of {whole} does not fit it")
            shapes[whole] = shape
        elif not name.endswith(SCALE):
            shapes[name] = shape
    return shapes


def from_stored(stored: Mapping[str, Array], where: str) -> dict[str, Array]:
    """The weights in float32. Refuses numbers that are not finite."""
    shapes = whole_shapes({name: tensor.shape for name, tensor in stored.items()}, where)
    weights: dict[str, Array] = {}
    for name in shapes:
        rows = stored.get(name + ROWS)
        kept = stored[name + SCALE] if rows is not None else stored[name]
        largest = _LARGEST_SCALE if rows is not None else np.inf
        if kept.dtype.kind == "f" and kept.size and not (-largest < kept.min() and kept.max() < largest):
            raise AnynerError(
                f"{where}: {name} holds values that are not finite: the training went wrong, or the file is damaged"
            )
        weights[name] = _whole(rows, kept) if rows is not None else kept
        if weights[name].dtype.kind == "f":
            weights[name] = weights[name].astype(np.float32, copy=False)
    return weights


def _whole(rows: Array, scale: Array) -> Array:
    """Each column of the rows (..., n) times the scale (..., n / columns) that it shares with its neighbours."""
    columns = rows.shape[-1] // scale.shape[-1]
    grouped = rows.astype(np.float32).reshape(*scale.shape, columns)
    grouped *= scale.astype(np.float32)[..., None]
    return grouped.reshape(rows.shape)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
