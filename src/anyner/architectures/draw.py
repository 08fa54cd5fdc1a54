"""The only source of randomness a head has: numbers keyed by what they are for, never by when or beside what they are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Draw:
    """Numbers keyed by (seed, sentence content, purpose, epoch), drawn on the host: equal on every device, batch and process.

    A row's numbers come in order, so the first n of a longer row are the n of a shorter one: padding changes nothing. The same
    purpose gives the same numbers again: name a denoising step or a sample in it.
    """

    seed: int
    epoch: int = 0
    """0 in prediction; in training each epoch draws anew."""
    step: int = 0
    """Steps taken so far, for heads that alternate objectives; it changes no number."""

    def normal(self, purpose: str, content_keys: Sequence[int], size: int) -> Floats:
        """Standard normal numbers, one row a sentence: (B, size)."""
        drawn = np.empty((len(content_keys), size), dtype=np.float32)
        for row, generator in enumerate(self._generators(purpose, content_keys)):
            generator.standard_normal(dtype=np.float32, out=drawn[row])
        return drawn

    def uniform(self, purpose: str, content_keys: Sequence[int], size: int) -> Floats:
        """Numbers uniform in [0, 1), one row a sentence: (B, size)."""
        drawn = np.empty((len(content_keys), size), dtype=np.float32)
        for row, generator in enumerate(self._generators(purpose, content_keys)):
            generator.random(dtype=np.float32, out=drawn[row])
        return drawn

    def _generators(self, purpose: str, content_keys: Sequence[int]) -> Iterator[np.random.Generator]:
        """A generator for each sentence: one and the same, set to another key each time, which is cheaper than making one."""
        salt = int.from_bytes(blake2b(f"{self.seed}/{self.epoch}/{purpose}".encode(), digest_size=8).digest(), "little")
        bits = np.random.Philox(key=0)
        generator, state = np.random.Generator(bits), bits.state
        for key in content_keys:
            state["state"]["key"] = np.array([key, salt], dtype=np.uint64)
            bits.state = state
            yield generator
