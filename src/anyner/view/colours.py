"""The colour of a label depends on its name alone, so it is the same on every page, run and machine.

Ten colours that are distinguishable with any kind of colour blindness, each in one variant for light and one for dark
backgrounds, with a contrast of at least 4.5. Two labels may share one, so a label's name is always drawn as well.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

_SEED = 3917
"""Chosen so that the labels of well-known corpora do not share colours."""


class Colour(NamedTuple):
    """One colour of the palette."""

    number: int
    light: str
    """For a light background, as #rrggbb."""
    dark: str
    terminal: int
    """Index in the 256-colour palette; readable on dark and light backgrounds."""


PALETTE = tuple(
    Colour(number, *forms)
    for number, forms in enumerate(
        (
            ("#6c061d", "#fd8c91", 167),
            ("#796b0a", "#bca81d", 136),
            ("#4d5001", "#898d00", 100),
            ("#0f6c4c", "#90ffce", 35),
            ("#074e54", "#1fb9c6", 37),
            ("#0e7c9d", "#0194bb", 32),
            ("#7b60cb", "#a891fb", 98),
            ("#43167e", "#dcd1ff", 103),
            ("#7f3898", "#e4a2ff", 134),
            ("#c04877", "#da5f8d", 168),
        )
    )
)


@lru_cache(maxsize=4096)
def colour_of(label: str) -> Colour:
    data = label.encode(errors="backslashreplace")  # a lone surrogate cannot be encoded
    return PALETTE[crc32(data, _SEED) % len(PALETTE)]
