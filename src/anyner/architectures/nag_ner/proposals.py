"""What the blocks of a batch have written, and what a check says about it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from anyner.architectures import base
from anyner.encoding.encoder import States
from anyner.layers.span_check import SpanCheck, agreed
from anyner.layers.spanpool import Spans


@dataclass(frozen=True, slots=True)
class WrittenBlocks(base.Proposals):
    """Q blocks with the K best entities of each, best first."""

    place: Tensor  # (Q, 5) sentence, word, rank, label, last word of an entity that does not fit
    start: Tensor  # (Q,) probability that an entity begins there
    kind: Tensor  # (Q,) probability of the label
    score: Tensor  # (Q, K) geometric mean of what was written; 0: there is none
    count: Tensor  # (Q, K) words of it
    words: Tensor  # (Q, K, W) counted from the block's word
    long_score: Tensor  # (Q,) that of an entity that does not fit, 0: there is none


def with_check(blocks: WrittenBlocks, check: SpanCheck | None, states: States, share: float) -> WrittenBlocks:
    """The same with the check's opinion in the scores."""
    if check is None or not share:
        return blocks
    sentence, word, _, label, last = blocks.place.unbind(1)  # (Q,) each
    ends = word[:, None] + blocks.words.gather(2, (blocks.count - 1).clamp(min=0)[..., None])[..., 0]  # (Q, K)
    ends = torch.where(blocks.count > 0, ends, word[:, None])
    gaps = ends - word[:, None] + 1 != blocks.count
    ends, gaps = torch.cat([ends, last[:, None]], dim=1), functional.pad(gaps, (0, 1))  # (Q, K + 1) each
    rows = [one[:, None].expand_as(ends).flatten() for one in (sentence, word, label)]
    checked = check(check.read(states.words), Spans(rows[0], rows[1], ends.flatten()), rows[2], gaps.flatten()).view_as(ends)
    return replace(
        blocks,
        kind=blocks.kind ** (1 - share),
        score=agreed(blocks.score, checked[:, :-1], share),
        long_score=agreed(blocks.long_score, checked[:, -1], share),
    )
