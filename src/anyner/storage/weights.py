"""The weights file, read with numpy alone: float32, bfloat16, or 8- and 4-bit rows with scales."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyner.encoding.stored import stored_shapes
from anyner.errors import AnynerError
from anyner.storage.files import CONFIG, WEIGHTS

Array = NDArray[Any]
Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
INT8_COLUMNS, INT8_SCALES = ".int8_columns", ".int8_scales"
"""Suffixes of the names of a weight that a graph multiplies in int8."""
_LARGEST_COLUMN = 96
"""Largest integer in a column that a graph multiplies in int8: see `export/int8.py`."""
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
    "BOOL": "?",
}
_LARGEST_SCALE = 1e36
"""Times 127, it still fits in a float32."""
INT4_ZERO = 8
"""Zero point: 4-bit numbers from -8 to 7 are stored with this added."""


@dataclass(frozen=True, slots=True)
class Packing:
    """A quantized weight: integer rows, and a scale (..., groups) for each group of columns."""

    rows: str
    scale: str
    """Suffixes of the names of both."""
    in_a_byte: int

    def whole(self, rows: Array, scale: Array) -> Floats:
        """The dequantized weight (..., n), from the rows as they are stored: each column times the scale of its group."""
        if self.in_a_byte == 2:  # the even column is in the lower half of a byte
            both = rows.astype(np.uint8, copy=False)
            halves = np.stack((both & 15, both >> 4), axis=-1)  # (..., n / 2, 2)
            rows = halves.astype(np.int8).reshape(*rows.shape[:-1], -1) - np.int8(INT4_ZERO)
        columns = rows.shape[-1] // scale.shape[-1]
        grouped = rows.astype(np.float32).reshape(*scale.shape, columns)
        grouped *= scale.astype(np.float32)[..., None]
        return grouped.reshape(rows.shape)


INT8, INT4 = Packing(".int8_rows", ".int8_scale", 1), Packing(".int4_rows", ".int4_scale", 2)


def weights_file(folder: Path) -> Path:
    path = folder / WEIGHTS
    if not path.is_file():
        raise AnynerError(f"{folder}: no {WEIGHTS} (weights in other formats, such as pickles, are never read)")
    return path


class Weights(Mapping[str, Array]):
    """The weights of a file by name, read on access: floats as float32 whatever they are stored as, integers unchanged.

    No more than one of them needs to be in memory twice.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        stored = stored_shapes(path)  # refuses incomplete files and unknown types
        self.shapes = whole_shapes(stored, str(path))
        try:
            with path.open("rb") as file:
                size = int.from_bytes(file.read(8), "little")
                self._header = json.loads(file.read(size))
            self._start = 8 + size
        except OSError as error:
            raise AnynerError(f"{path}: cannot be read: {error.strerror}") from None

    def check(self, expected: str | None) -> None:
        """Refuses a file whose sha256 is not the expected one, if that is known."""
        if expected is not None and sha256_of(self._path) != expected:
            raise AnynerError(f"{self._path}: not the file that {CONFIG} was saved with, or damaged: its sha256 differs")

    def __iter__(self) -> Iterator[str]:
        return iter(self.shapes)

    def __len__(self) -> int:
        return len(self.shapes)

    def __getitem__(self, name: str) -> Array:
        packing = self._packing(name)
        kept = self._stored(name + packing.scale if packing else name)
        self._check_finite(name, kept, packed=packing is not None)
        whole = packing.whole(self._stored(name + packing.rows), kept) if packing else kept
        return whole.astype(np.float32, copy=False) if whole.dtype.kind == "f" else whole

    def columns(self, name: str) -> tuple[NDArray[np.int8], Floats]:
        """A table (N, K) for int8 matrix products: its transpose (K, N) in int8, and a scale for each column (N,)."""
        table = self[name].T  # (K, N)
        scales = np.maximum(np.abs(table).max(0), 1e-12) / _LARGEST_COLUMN  # (N,)
        return np.ascontiguousarray(np.rint(table / scales).astype(np.int8)), scales

    def rows(self, name: str) -> Callable[[Integers], Floats]:
        """Looks up rows of a table by index. The table stays in the file: a text needs few of its rows."""
        packing = self._packing(name)
        if packing is not None:
            packed, scale = self._mapped(name + packing.rows), self._stored(name + packing.scale)
            self._check_finite(name, scale, packed=True)
            return lambda numbers: packing.whole(packed[numbers], scale[numbers])
        table, half = self._mapped(name), self._header[name]["dtype"] == "BF16"
        if half:
            return lambda numbers: _from_bfloat16(table[numbers])
        self._check_finite(name, table, packed=False)
        return lambda numbers: table[numbers].astype(np.float32)

    def _packing(self, name: str) -> Packing | None:
        return next((packing for packing in (INT8, INT4) if name + packing.rows in self._header), None)

    def _mapped(self, name: str) -> Array:
        own = self._header[name]
        place, shape = self._start + own["data_offsets"][0], tuple(own["shape"])
        return np.memmap(self._path, _TYPES[own["dtype"]], "r", place, shape)

    def _stored(self, name: str) -> Array:
        """A tensor of the file; bfloat16, which numpy does not have, as float32."""
        own = self._header[name]
        start, stop = own["data_offsets"]
        with self._path.open("rb") as file:
            file.seek(self._start + start)
            array = np.frombuffer(bytearray(file.read(stop - start)), _TYPES[own["dtype"]]).reshape(own["shape"])
        return _from_bfloat16(array) if own["dtype"] == "BF16" else array

    def _check_finite(self, name: str, kept: Array, *, packed: bool) -> None:
        largest = _LARGEST_SCALE if packed else np.inf
        if kept.dtype.kind == "f" and kept.size and not (-largest < kept.min() and kept.max() < largest):
            cause = "the training diverged, or the file is damaged"
            raise AnynerError(f"{self._path}: {name} holds values that are not finite: {cause}")


def whole_shapes(stored: Mapping[str, tuple[int, ...]], where: str) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights, from those of the tensors in the file."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, shape in stored.items():
        packing = next((packing for packing in (INT8, INT4) if name.endswith(packing.rows)), None)
        if packing is not None:
            whole = name.removesuffix(packing.rows)
            scale = stored.get(whole + packing.scale)
            if scale is None or whole in stored or whole in shapes:
                raise AnynerError(f"{where}: the scale of {whole} is missing, or it is stored twice")
            columns = packing.in_a_byte * shape[-1] if shape else 0
            if not scale or scale[:-1] != shape[:-1] or not math.prod(scale) or columns % scale[-1]:
                raise AnynerError(f"{where}: the scale of {whole} does not fit it")
            shapes[whole] = (*shape[:-1], columns)
        elif not name.endswith((INT8.scale, INT4.scale)):
            shapes[name] = shape
    return shapes


def _from_bfloat16(bits: Array) -> Floats:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
