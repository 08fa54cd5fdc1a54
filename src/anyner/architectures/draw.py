"""The only source of randomness a head has: numbers keyed by what they are for, never by when or beside what they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Draw:
    """Numbers keyed by (seed, sentence content, purpose, epoch), drawn on the host: equal on every device, batch and process.

    A row's numbers come in order, so the first n of a longer row are the n of a shorter one: padding changes nothing.
    """

    seed: int
    epoch: int = 0
    """0 in prediction; in training each epoch draws anew."""
    step: int = 0
    """Steps taken so far, for heads that alternate objectives."""

    def normal(self, purpose: str, content_keys: Sequence[int], size: int) -> Floats:
        """Standard normal numbers, one row a sentence: (B, size)."""
        rows = [generator.standard_normal(size, dtype=np.float32) for generator in self._generators(purpose, content_keys)]
        return np.stack(rows)

    def uniform(self, purpose: str, content_keys: Sequence[int], size: int) -> Floats:
        """Numbers uniform in [0, 1), one row a sentence: (B, size)."""
        rows = [generator.random(size, dtype=np.float32) for generator in self._generators(purpose, content_keys)]
        return np.stack(rows)

    def _generators(self, purpose: str, content_keys: Sequence[int]) -> list[np.random.Generator]:
        salt = blake2b(f"{self.seed}/{self.epoch}/{purpose}".encode(), digest_size=8).digest()
        salted = int.from_bytes(salt, "little") << 64
        return [np.random.Generator(np.random.Philox(key=salted | key)) for key in content_keys]
