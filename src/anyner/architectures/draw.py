"""The only source of randomness a head has: numbers keyed by what they are for, never by when or beside what they are drawn."""

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
"""Entries of the table of normal numbers, a power of 2."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Numbers keyed by (seed, sentence content, purpose, epoch): equal on every device, batch and process.

    A row's numbers come in order, so the first n of a longer row are the n of a shorter one: padding changes nothing. The same
    purpose gives the same numbers again: name a denoising step or a sample in it. All rows are drawn at once: a generator for
    each sentence would cost more than the device needs for the rest of the head.
    """

    seed: int
    epoch: int = 0
    """0 in prediction; in training each epoch draws anew."""
    step: int = 0
    """Steps taken so far, for heads that alternate objectives; it changes no number."""

    def uniform(self, purpose: str, content_keys: Sequence[int], size: int) -> Floats:
        """Numbers uniform in [0, 1), one row a sentence: (B, size)."""
        bits = _mixed(self._row_keys(purpose, content_keys)[:, None] + _COUNTER * np.arange(1, size + 1, dtype=np.uint64))
        return (bits >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)  # the 24 bits that a float32 holds exactly

    def normal(self, purpose: str, content_keys: Sequence[int], size: int) -> Floats:
        """Standard normal numbers, one row a sentence: (B, size). Read from a table: drawing so many takes long."""
        first, stride = np.split(self.normal_places(purpose, content_keys), 2, axis=1)  # (B, 1) each
        numbers: Floats = normals()[first + stride * np.arange(size) & len(normals()) - 1]
        return numbers

    def normal_places(self, purpose: str, content_keys: Sequence[int]) -> Integers:
        """Where each row is read in the table of `normals`, as its first entry and the stride: (B, 2).

        For a device that has the table: number n is entry (first + n stride) modulo the size of the table.
        """
        keys = self._row_keys(purpose, content_keys)  # (B,)
        stride: Hashes = _mixed(keys + _COUNTER + _COUNTER) | np.uint64(1)  # odd: every entry comes before one comes again
        return (np.stack([_mixed(keys + _COUNTER), stride], axis=1) & np.uint64(_NORMALS - 1)).astype(np.int64)

    def _row_keys(self, purpose: str, content_keys: Sequence[int]) -> Hashes:
        salt = int.from_bytes(blake2b(f"{self.seed}/{self.epoch}/{purpose}".encode(), digest_size=8).digest(), "little")
        return _mixed(np.array(content_keys, dtype=np.uint64) ^ np.uint64(salt))  # (B,)


@cache
def normals() -> Floats:
    """Standard normal numbers that every row is read from."""
    return np.random.Generator(np.random.Philox(key=0)).standard_normal(_NORMALS, dtype=np.float32)


_COUNTER = np.uint64(0x9E3779B97F4A7C15)


def _mixed(numbers: Hashes) -> Hashes:
    """Every bit of the result depends on every bit of the number (SplitMix64's finaliser); wraps around on purpose."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = numbers ^ (numbers >> np.uint64(31))
    return mixed
