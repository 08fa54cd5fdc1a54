"""How raw text becomes words and windows; saved with the model, because a model must see the words it was trained on."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from anyner.settings import Settings, by_rule
from anyner.text.words import SplitterName


class TextConfig(Settings):
    splitter: SplitterName = "unicode"
    """How raw text is cut into words."""
    words: Literal["split", "given"] = by_rule("split")
    """`given`: keep the words of a corpus in words, and cut raw text with the splitter; `split`: cut all text with it."""
    window: int | None = Field(default=None, ge=16)
    """Most pieces the encoder reads at once, special ones included; default: the encoder's limit, at most 512."""
    context: int = Field(default=0, ge=0)
    """Neighbouring sentences read on each side, for documents with `doc` and `sentence`."""
