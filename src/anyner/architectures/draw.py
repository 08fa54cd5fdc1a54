"""The only source of randomness of a head: numbers keyed by their purpose, whatever the order of calls and the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Hashes = NDArray[np.uint64]
Integers = NDArray[np.int64]

_NORMALS = 2**20
"""Size of the table of normal numbers, a power of 2."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Random numbers keyed by (seed, sentence content, purpose, epoch): the same in every batch and process, on every device.

    A shorter row is a prefix of a longer one, so padding changes nothing. The same purpose gives the same numbers, so put the
    number of a denoising step or sample into it. All rows are drawn at once: one generator per sentence would take longer than
    the rest of the head takes on the device.
    """

    seed: int
    epoch: int = 0
    """0 in prediction; in training, each epoch draws new numbers."""
    step: int = 0
    """Training steps so far, for heads that alternate objectives; it does not change the numbers."""

    def uniform(self, purpose: str, content_keys: Sequence[int], size: int) -> Floats:
        """Uniform numbers in [0, 1), one row per sentence: (B, size)."""
        bits = _mixed(self._row_keys(purpose, content_keys)[:, None] + _COUNTER * np.arange(1, size + 1, dtype=np.uint64))
        return (bits >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)  # the 24 bits that a float32 holds exactly

    def normal(self, purpose: str, content_keys: Sequence[int], size: int) -> Floats:
        """Standard normal numbers, one row per sentence: (B, size). Looked up in a table, because drawing so many is slow."""
        first, stride = np.split(self.normal_places(purpose, content_keys), 2, axis=1)  # (B, 1) each
        numbers: Floats = normals()[first + stride * np.arange(size) & len(normals()) - 1]
        return numbers

    def normal_places(self, purpose: str, content_keys: Sequence[int]) -> Integers:
        """Where each row is in the table of `normals`: first entry and stride, (B, 2).

        For a device that holds the table: number n is entry (first + n * stride) modulo the table's size.
        """
        keys = self._row_keys(purpose, content_keys)  # (B,)
        stride: Hashes = _mixed(keys + _COUNTER + _COUNTER) | np.uint64(1)  # odd: visits every entry before repeating one
        return (np.stack([_mixed(keys + _COUNTER), stride], axis=1) & np.uint64(_NORMALS - 1)).astype(np.int64)

    def _row_keys(self, purpose: str, content_keys: Sequence[int]) -> Hashes:
        salt = int.from_bytes(blake2b(f"{self.seed}/{self.epoch}/{purpose}".encode(), digest_size=8).digest(), "little")
        return _mixed(np.array(content_keys, dtype=np.uint64) ^ np.uint64(salt))  # (B,)


@cache
def normals() -> Floats:
    """The table of standard normal numbers."""
    return np.random.Generator(np.random.Philox(key=0)).standard_normal(_NORMALS, dtype=np.float32)


_COUNTER = np.uint64(0x9E3779B97F4A7C15)


def _mixed(numbers: Hashes) -> Hashes:
    """Every bit of the result depends on every bit of the number (SplitMix64's finaliser); wraps around on purpose."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = numbers ^ (numbers >> np.uint64(31))
    return mixed
