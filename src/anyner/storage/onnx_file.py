"""The external tensors of an ONNX file. Read from its bytes (protobuf), as prediction does not need the onnx package."""

from __future__ import annotations

from collections.abc import Iterator

from anyner.errors import AnynerError

_NESTED = {
    "model": {7: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 10: "tensor", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
"""The messages that may hold tensors, by field number."""
_REFUSED = {"model": (20, 25), "attribute": (6, 11)}
"""Graphs for training, functions, and the bodies of loops and branches: they may never end, or double at every level."""
_NAME, _EXTERNAL_DATA, _LOCATION = 8, 13, 14
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def external_tensors(content: bytes, where: str) -> set[str]:
    """The names of all tensors whose data is not in the file. Loops, branches and functions are refused."""
    try:
        return set(_external(memoryview(content), "model", where))
    except (IndexError, UnicodeDecodeError, ValueError):
        raise AnynerError(f"{where}: not an ONNX graph, or damaged") from None


def _external(message: memoryview, kind: str, where: str) -> Iterator[str]:
    names, outside = [], False
    for field, value in _fields(message):
        if field in _REFUSED.get(kind, ()):
            raise AnynerError(f"{where}: has loops, branches or functions, which no exported graph has: not allowed")
        if kind == "tensor":
            if field == _NAME and isinstance(value, memoryview):
                names.append(str(value, "utf-8"))
            outside |= field == _EXTERNAL_DATA or (field == _LOCATION and value != 0)
        elif field in _NESTED[kind] and isinstance(value, memoryview):
            yield from _external(value, _NESTED[kind][field], where)
    if outside:  # readers take the last of a repeated field: here all count
        yield from names or [""]


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The number and the content of each field."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind, size = tag & 7, 0
        if kind == _VARINT:
            value, place = _varint(message, place)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, place = _varint(message, place)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError("no such kind of field")
        if size > len(message) - place:
            raise ValueError("cut short")
        yield tag >> 3, message[place : place + size]
        place += size


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """A varint, 7 bits per byte, lowest first, and the offset after it."""
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
