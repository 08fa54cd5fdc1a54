"""How raw text becomes words and windows; saved with the model, because a model must see the words it was trained on."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from anyner.settings import Settings
from anyner.text.words import SplitterName


class TextConfig(Settings):
    splitter: SplitterName = "unicode"
    """How raw text is cut into words."""
    words: Literal["split", "given"] = "split"
    """`given`: keep the words of a pre-tokenised corpus (for comparison with papers); `split`: cut its text with the splitter."""
    mark_lines: bool = True
    """Whether the encoder reads a separator at the end of a line; lines of a wrapped paragraph have none."""
    window: int | None = Field(default=None, ge=16)
    """Most pieces the encoder reads at once, special ones included; default: the encoder's limit, at most 512."""
    overlap: int = Field(default=48, ge=0)
    """Words that two neighbouring windows of a long document share."""
    context: int = Field(default=0, ge=0)
    """Neighbouring sentences read on each side, for documents with `doc` and `sentence`."""
    context_pieces: int = Field(default=96, ge=0)
    """Most pieces of context on each side; the farthest words are cut."""
