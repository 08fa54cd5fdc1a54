"""How raw text becomes words and windows; saved with the model, which must see text split as in training."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from anyner.settings import Settings, by_rule
from anyner.text.words import SplitterName


class TextConfig(Settings):
    splitter: SplitterName = "unicode"
    """Splits raw text into words."""
    words: Literal["split", "given"] = by_rule("split")
    """`given`: keep the words of a corpus that has words, split only raw text; `split`: split every text."""
    window: int | None = Field(default=None, ge=16)
    """Maximum number of pieces in a window, special ones included; default: the encoder's maximum, at most 512."""
    context: int = Field(default=0, ge=0)
    """Number of neighbouring sentences read on each side, for documents with `doc` and `sentence`."""
