"""Types learned at every span of a sentence, whichever spans a head would have come across."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.encoding.batch import Gold
from anyner.layers.boundary_pairs import BoundaryPairs

_NOTHING_AT_FIRST = 6.0
"""Logit of no entity at first: about one of a hundred spans is one, and learning that would waste the first steps."""


def expecting_nothing(pairs: BoundaryPairs, beside: nn.Linear | None = None) -> None:
    """Pairs begin by holding nearly every span for no entity; what is added to them `beside` takes that back."""
    nn.init.constant_(pairs.linear.bias[:1], _NOTHING_AT_FIRST)
    if beside is not None:
        nn.init.constant_(beside.bias[:1], -_NOTHING_AT_FIRST)


def loss_everywhere(logits: Tensor, word_mask: Tensor, gold: Gold) -> Tensor:
    """Cross-entropy of (B, 1 + C, M, M), 0 being no entity, summed over all spans of real words.

    Discontinuous entities are kinds of their own, behind the others, in (B, 1 + 2 C, M, M), and else no entities. Of two labels
    for the same first and last word the later one is learned.
    """
    sentences, kinds, words, _ = logits.shape
    labels = gold.annotated.shape[1]
    place = (gold.sentence * words + gold.first) * words + gold.last  # (E,)
    of_gaps = gold.label + 1 + labels if kinds > 1 + labels else torch.zeros_like(gold.label)
    kind = torch.where(gold.contiguous, gold.label + 1, of_gaps)
    nothing = torch.zeros(sentences * words * words, dtype=kind.dtype, device=kind.device)
    target = nothing.scatter_reduce(0, place, kind, "amax").view(sentences, words, words)
    unknown = functional.pad((~gold.annotated).repeat(1, (kinds - 1) // labels), (1, 0))  # (B, kinds)
    loss = functional.cross_entropy(logits.masked_fill(unknown[:, :, None, None], -1e4), target, reduction="none")  # (B, M, M)
    spans = (word_mask[:, :, None] & word_mask[:, None]).triu()
    return torch.where(spans, loss, 0.0).sum()
