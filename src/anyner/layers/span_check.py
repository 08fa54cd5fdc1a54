"""A second opinion on entities that were written word by word: how likely their first and last word bound one of that label."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from anyner.encoding.gold import Gold
from anyner.layers.boundary_pairs import BoundaryPairs
from anyner.layers.everywhere import expecting_nothing, loss_everywhere
from anyner.layers.fragment_check import FragmentCheck
from anyner.layers.outline import Outlines


@dataclass(frozen=True, slots=True)
class Read:
    """Sentences as the check reads them, once for all that it is asked."""

    words: Tensor  # (B, M, d)
    boundaries: Tensor  # (B, M, 2k)
    table: Tensor | None  # (B, kinds, M, M) the logits of all spans; None: too many to keep


class SpanCheck(nn.Module):
    def __init__(
        self, word_width: int, width: int, labels: int, *, contiguous: bool, dropout: float, fragments: bool = False
    ) -> None:
        """Entities with gaps are kinds of their own, unless all are `contiguous`; `fragments` of theirs are looked at as well."""
        super().__init__()
        self.labels, self.contiguous = labels, contiguous
        self.pairs = BoundaryPairs(word_width, width, 1 + labels * (1 if contiguous else 2), dropout=dropout)
        expecting_nothing(self.pairs)
        self.fragments = FragmentCheck(word_width, width, dropout) if fragments and not contiguous else None

    def loss(self, words: Tensor, word_mask: Tensor, gold: Gold) -> Tensor:
        """Summed over all spans of the words (B, M, d)."""
        loss = loss_everywhere(self.pairs(words), word_mask, gold)
        return loss if self.fragments is None else loss + self.fragments.loss(words, word_mask, gold)

    def read(self, words: Tensor) -> Read:
        boundaries = self.pairs.as_boundaries(words)
        parts = self.pairs.parts(boundaries)
        return Read(words, boundaries, self.pairs.of_kinds(boundaries, parts[0]) if len(parts) == 1 else None)

    def reach(self, read: Read, word_mask: Tensor, least: float) -> tuple[Tensor, Tensor]:
        """The last words of the longest spans from each word that may be entities, without and with gaps: (B, M) each.

        -1 where there are none.
        """
        whole = gaps = total = read.boundaries.new_full((), -math.inf, dtype=torch.float32)
        for part in self.pairs.parts(read.boundaries):
            logits = self.pairs.of_kinds(read.boundaries, part) if read.table is None else read.table  # (B, c, M, M)
            total = torch.logaddexp(total, logits.logsumexp(1))  # (B, M, M)
            behind = self.labels + 1 - part.start  # where in this part the kinds with gaps begin
            of_whole, of_gaps = logits[:, max(0, 1 - part.start) : max(0, behind)], logits[:, max(0, behind) :]
            whole = torch.maximum(whole, of_whole.amax(1)) if of_whole.shape[1] else whole
            gaps = torch.maximum(gaps, of_gaps.amax(1)) if of_gaps.shape[1] else gaps
        inside = (word_mask[:, :, None] & word_mask[:, None]).triu()
        last = torch.arange(word_mask.shape[1], device=word_mask.device)
        likely = (inside & (best - total >= math.log(least)) for best in (whole, gaps))
        without, with_gaps = (torch.where(spans, last, -1).amax(2) for spans in likely)
        return without, with_gaps

    def forward(self, read: Read, entities: Outlines, label: Tensor) -> Tensor:
        """How likely N entities of so many labels (N,) are: (N,)."""
        return self.of_labels(read, entities).gather(1, label[:, None])[:, 0]

    def of_labels(self, read: Read, entities: Outlines) -> Tensor:
        """How likely N entities are of each label, from their ends; from their fragments as well where there are gaps: (N, C)."""
        spans, gaps = entities.whole, entities.gaps
        if read.table is None:
            logits = self.pairs.at(read.boundaries, spans)
        else:
            logits = read.table[spans.sentence, :, spans.first, spans.last]
        kinds = logits.softmax(1)[:, 1:]  # (N, C), or (N, 2 C): without and with gaps
        likely = kinds if self.contiguous else torch.where(gaps[:, None], kinds[:, self.labels :], kinds[:, : self.labels])
        if self.fragments is None or not bool(gaps.any()):
            return likely
        fragments = self.fragments(read.words, entities)[:, None]  # (N, 1)
        return torch.where(gaps[:, None], (likely * fragments).sqrt(), likely)


def agreed(score: Tensor, checked: Tensor, share: float) -> Tensor:
    """Both opinions as one: the weighted geometric mean, of which the check has a share."""
    return score.clamp(min=0.0) ** (1 - share) * checked**share


def least_before(least: float, share: float) -> float:
    """What a score must be at least for both to reach `least`, the check being at most 1."""
    return float(least ** (1 / (1 - share)))
