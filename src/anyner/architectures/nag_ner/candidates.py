"""Rows of blocks that are looked at: the best of each, and where there is a choice to be made its next best."""

from __future__ import annotations

import torch
from torch import Tensor

from anyner.architectures.nag_ner.exact import Best, best_without_gaps, best_words
from anyner.architectures.nag_ner.layout import Layout


def looked_at(layout: Layout, best: Best, gap: Tensor | None, *, undecided: Tensor, checked: bool, count: int) -> Best:
    """At most `count` rows of each block, its best first. Where there is a check to choose, beyond the best those without gaps;
    where the block is `undecided` (Q,) instead the next best of any shape.
    """
    if count == 1:
        return best
    placed, sizes, end, links = layout.placed, layout.sizes, layout.end, layout.links
    if checked:
        best = best.beside(best_without_gaps(placed, sizes, end, count=count - 1))
    blocks = undecided.nonzero()[:, 0]  # (N,)
    if not len(blocks):
        return best
    own = links[blocks] if links is not None else None
    return best.replaced(blocks, best_words(placed[blocks], sizes[blocks], end[blocks], gap, count=count, links=own))


def in_doubt(best: Best, total: Tensor, doubt: float) -> Tensor:
    """Blocks whose best row is less likely than that among all rows, whose log sums are the `total` (Q,): (Q,) bool."""
    return torch.exp(best.score[:, 0] - total) < doubt
