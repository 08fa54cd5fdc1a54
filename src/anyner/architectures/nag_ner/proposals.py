"""What the blocks of a batch have written, and what a check says about it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from anyner.architectures import base
from anyner.encoding.encoder import States
from anyner.layers.outline import Outlines, outlined
from anyner.layers.span_check import SpanCheck, agreed


@dataclass(frozen=True, slots=True)
class WrittenBlocks(base.Proposals):
    """Q blocks with the K best entities of each, best first."""

    place: Tensor  # (Q, 5) sentence, word, rank, label, last word of an entity that does not fit
    start: Tensor  # (Q,) probability that an entity begins there
    kind: Tensor  # (Q,) probability of the label
    score: Tensor  # (Q, K) how sure the words are, 0: there are none
    count: Tensor  # (Q, K) words of it
    words: Tensor  # (Q, K, W) counted from the block's word
    long_score: Tensor  # (Q,) that of an entity that does not fit, 0: there is none


def with_check(blocks: WrittenBlocks, check: SpanCheck | None, states: States, share: float) -> WrittenBlocks:
    """The same with the check's opinion in the scores."""
    if check is None or not share:
        return blocks
    sentence, word, _, label, last = blocks.place.unbind(1)  # (Q,) each
    read, count = check.read(states.words), blocks.count
    words = word[:, None, None] + torch.where(count[..., None] > 0, blocks.words, 0)  # (Q, K, W)
    owner, kinds = (one[:, None].expand_as(count).flatten() for one in (sentence, label))
    checked = check(read, outlined(owner, words.flatten(0, 1), count.flatten()), kinds).view_as(count)
    checked_long = check(read, Outlines(sentence, word, last, word, last), label)  # (Q,) one that does not fit has no gaps
    return replace(
        blocks,
        kind=blocks.kind ** (1 - share),
        score=agreed(blocks.score, checked, share),
        long_score=agreed(blocks.long_score, checked_long, share),
    )
