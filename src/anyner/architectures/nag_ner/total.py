"""All rows of words that a sentence has for a block, together: what the probability of one of them is a share of.

The sum goes the way of the search for the best (`exact.py`), with sums where that has maxima.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from anyner.architectures.nag_ner.exact import LARGEST
from anyner.architectures.nag_ner.links import over_gaps

NONE = -1e4
"""The log score of what is not there. Not -inf: sums of nothing else have no gradient then."""


def log_total(
    placed: Tensor, sizes: Tensor, end: Tensor, gap: Tensor | None, *, largest: int, links: Tensor | None = None
) -> Tensor:
    """Log of the sum over all rows of words of each block: (Q,).

    `placed` (Q, R, L), `sizes` (Q, R) and `end` (Q, L + 1) are those of `best_words`; `gap` (L,) is taken off for a jump behind
    so many units, without it there are none; `links` (Q, R, R) are added for one from a word to another. `largest` is the most
    units of a word.
    """
    words, units = placed.shape[1:]
    at_once = max(1, LARGEST // words**2)
    if links is not None and len(placed) > at_once and not torch.is_grad_enabled():
        split = (torch.split(part, at_once) for part in (placed, sizes, end, links))
        every = zip(*split, strict=True)
        return torch.cat([log_total(one, size, last, gap, largest=largest, links=own) for one, size, last, own in every])
    if gap is None:  # what is farther than there are units cannot be reached
        words = min(words, units)
        placed, sizes = placed[:, :words], sizes[:, :words]
    placed, end = placed.float().clamp(min=NONE).flip(1), end.float().clamp(min=NONE)  # the last word first
    sizes = sizes.flip(1)
    links = over_gaps(links, NONE).flip(1, 2) if links is not None else None
    behind = {units: end[:, units, None].expand(-1, words)}  # of all ways on from a word (Q, R), by the units written so far
    nothing = torch.full_like(behind[units], NONE)
    for written in range(units - 1, 0, -1):
        from_word = placed[:, :, written] + _after(behind, written, sizes, largest, nothing)  # (Q, R)
        beside = functional.pad(from_word, (2, 0), value=NONE)  # (Q, 2 + R) so that word r finds the next at r + 1
        ways = [end[:, written, None].expand(-1, words), beside[:, 1:-1]]
        if gap is not None:
            jump = beside.logcumsumexp(1)[:, :-2] if links is None else (from_word[:, None] + links).logsumexp(2)  # (Q, R)
            ways.append(jump - gap[written])
        behind[written] = torch.stack(ways).logsumexp(0)
    return placed[:, -1, 0] + _after(behind, 0, sizes, largest, nothing)[:, -1]


def _after(behind: dict[int, Tensor], written: int, sizes: Tensor, largest: int, nothing: Tensor) -> Tensor:
    """What is behind each word once it is written, too: (Q, R)."""
    found = behind.get(written + 1, nothing)
    for size in range(2, largest + 1):
        found = torch.where(sizes == size, behind.get(written + size, nothing), found)
    return found
