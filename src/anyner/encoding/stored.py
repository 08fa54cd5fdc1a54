"""The header of a safetensors file, read before any memory is allocated for its tensors."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError, safe_open

from anyner.errors import AnynerError, first_line

Shape = tuple[int, ...]
_MOST_HEADER = 32 << 20
_DTYPES = frozenset({"F32", "BF16", "F16", "F64", "I8", "U8", "I16", "I32", "I64", "BOOL"})


def stored_shapes(path: Path) -> dict[str, Shape]:
    """The shape of every tensor, by name; refuses truncated files, other file types and other number types."""
    try:
        with path.open("rb") as file:
            header = int.from_bytes(file.read(8), "little")
        if header > _MOST_HEADER:  # a pickle reads as an absurd length
            raise AnynerError(f"{path}: not a valid safetensors file (pickles are refused): its header is too large")
        with safe_open(path, framework="np") as weights:
            slices = {name: weights.get_slice(name) for name in weights.keys()}  # noqa: SIM118 - it is no dictionary
            for name, one in slices.items():
                if one.get_dtype() not in _DTYPES:
                    raise AnynerError(f"{path}: {name[:80]!r} has the unsupported type {one.get_dtype()}; save it as float32")
            return {name: tuple(one.get_shape()) for name, one in slices.items()}
    except (SafetensorError, OSError, ValueError) as error:
        raise AnynerError(f"{path}: not a valid safetensors file (pickles are refused): {first_line(error)}") from None
