"""What the blocks of a batch have written, and what a check says about it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from anyner.architectures import base
from anyner.architectures.nag_ner.exact import Best
from anyner.architectures.nag_ner.writer import Blocks
from anyner.layers.outline import Outlines, outlined
from anyner.layers.span_check import Read, SpanCheck, agreed

LABELS = 2
"""Labels of a row that are looked at."""


@dataclass(frozen=True, slots=True)
class WrittenBlocks(base.Proposals):
    """Q blocks with K entities that each may be."""

    place: Tensor  # (Q, 3) sentence, word, rank
    start: Tensor  # (Q,) probability that an entity begins there
    score: Tensor  # (Q, K) how sure an entity is, 0: there is none
    label: Tensor  # (Q, K)
    count: Tensor  # (Q, K) words of it
    words: Tensor  # (Q, K, W) counted from the block's word
    long_score: Tensor  # (Q,) that of an entity that does not fit, 0: there is none
    long_label: Tensor  # (Q,)
    last: Tensor  # (Q,) its last word


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """The words of Q blocks, without labels."""

    blocks: Blocks
    best: Best
    sure: Tensor  # (Q, K) how sure the words are, 0: there are none
    last: Tensor  # (Q,) the last word of an entity that does not fit
    long_sure: Tensor  # (Q,) how sure it is, 0: there is none


def labelled(rows: WrittenRows, types: Tensor, start: Tensor, check: InformedCheck | None) -> WrittenBlocks:
    """Rows with the labels that the blocks (Q, C), and where there is a check both together, find likeliest."""
    sentence, word = rows.blocks.rows.sentence, rows.blocks.word
    score, long_score = rows.sure[..., None] * types[:, None], rows.long_sure[:, None] * types  # (Q, K, C) and (Q, C)
    if check is not None:
        count = rows.best.count
        words = word[:, None, None] + torch.where(count[..., None] > 0, rows.best.words, 0)  # (Q, K, W)
        owner = sentence[:, None].expand_as(count).flatten()
        checked = check(outlined(owner, words.flatten(0, 1), count.flatten())).view_as(score)
        score = agreed(score, checked, check.share)
        checked = check(Outlines(sentence, word, rows.last, word, rows.last))  # (Q, C) one that does not fit has no gaps
        long_score = agreed(long_score, checked, check.share)
    place = torch.stack([sentence, word, rows.blocks.rank], dim=1)
    # a second label of every row: the check would have all blocks of one word agree on the first
    labels = min(LABELS, types.shape[1]) if check is not None else 1
    likeliest, label = score.topk(labels, dim=2)  # (Q, K, l) each
    count, words = (part.repeat_interleave(labels, dim=1) for part in (rows.best.count, rows.best.words))  # (Q, K l, …)
    return WrittenBlocks(place, start, likeliest.flatten(1), label.flatten(1), count, words, *long_score.max(1), rows.last)


@dataclass(frozen=True, slots=True)
class InformedCheck:
    """A check that has read the sentences."""

    check: SpanCheck
    read: Read
    share: float
    """That of the check in a score."""

    @classmethod
    def of(cls, check: SpanCheck | None, words: Tensor, share: float) -> InformedCheck | None:
        """None where the check has no say."""
        return cls(check, check.read(words), share) if check is not None and share else None

    def __call__(self, entities: Outlines) -> Tensor:
        """How likely N entities are of each label: (N, C)."""
        return self.check.of_labels(self.read, entities)
