"""Entities by their ends, and by the ends of their first and last fragments: all that a check looks at."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from anyner.layers.spanpool import Spans


@dataclass(frozen=True, slots=True)
class Outlines:
    """N entities. One without gaps is its own first and last fragment."""

    sentence: Tensor  # (N,)
    first: Tensor  # (N,)
    first_end: Tensor  # (N,) the last word of the first fragment
    last_start: Tensor  # (N,) the first word of the last fragment
    last: Tensor  # (N,)

    @property
    def gaps(self) -> Tensor:
        return self.first_end != self.last  # (N,) bool

    @property
    def whole(self) -> Spans:
        return Spans(self.sentence, self.first, self.last)

    @property
    def fragments(self) -> tuple[Spans, Spans]:
        return Spans(self.sentence, self.first, self.first_end), Spans(self.sentence, self.last_start, self.last)


def outlined(sentence: Tensor, words: Tensor, size: Tensor) -> Outlines:
    """Of rising words (N, W), of which the first `size` (N,) count; at least one is taken to be there."""
    steps = words.shape[1] - 1
    first, last = words[:, 0], words.gather(1, (size - 1).clamp(min=0)[:, None])[:, 0]  # (N,) each
    if not steps:
        return Outlines(sentence, first, last, first, last)
    number = torch.arange(steps, device=words.device)
    jumps = (words[:, 1:] > words[:, :-1] + 1) & (number < size[:, None] - 1)  # (N, W - 1)
    before, after = jumps.int().argmax(1), steps - jumps.flip(1).int().argmax(1)  # of the first jump, behind the last
    found = jumps.any(1)
    first_end = torch.where(found, words.gather(1, before[:, None])[:, 0], last)
    last_start = torch.where(found, words.gather(1, after[:, None])[:, 0], first)
    return Outlines(sentence, first, first_end, last_start, last)
