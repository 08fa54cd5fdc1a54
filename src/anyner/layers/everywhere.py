"""Types learned at every span of a sentence, whichever spans a head would have come across."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.encoding.gold import Gold, Opinions
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
    for the same first and last word the later one is learned. Where there are opinions they are a part of the target.
    """
    sentences, kinds, words, _ = logits.shape
    labels = gold.annotated.shape[1]
    place = (gold.sentence * words + gold.first) * words + gold.last  # (E,)
    nothing = torch.zeros(sentences * words * words, dtype=gold.label.dtype, device=gold.label.device)
    target = nothing.scatter_reduce(0, place, _kinds(gold, labels, kinds), "amax").view(sentences, words, words)
    unknown = functional.pad((~gold.annotated).repeat(1, (kinds - 1) // labels), (1, 0))  # (B, kinds)
    logits = logits.masked_fill(unknown[:, :, None, None], -1e4)
    loss = functional.cross_entropy(logits, target, reduction="none")  # (B, M, M)
    spans = (word_mask[:, :, None] & word_mask[:, None]).triu()
    if gold.opinions is None:
        return torch.where(spans, loss, 0.0).sum()
    spoken_of = (target <= labels) | gold.opinions.know_gaps[:, None, None]  # (B, M, M)
    share = (gold.opinions.weight[:, None, None] * spoken_of).to(loss.dtype)  # (B, M, M)
    no_entity = logits.logsumexp(1) - logits[:, 0]  # (B, M, M) the loss if the target were no entity everywhere
    return torch.where(spans, loss.lerp(no_entity, share), 0.0).sum() + _of_opinions(logits, share, gold, gold.opinions)


def _of_opinions(logits: Tensor, share: Tensor, gold: Gold, opinions: Opinions) -> Tensor:
    """What the opinions' likely entities add to a target of no entity, summed."""
    _, kinds, words, _ = logits.shape
    labels = gold.annotated.shape[1]
    kind, sentence, first, last = _kinds(opinions, labels, kinds), opinions.sentence, opinions.first, opinions.last
    likely = opinions.likely * gold.annotated[sentence, opinions.label] * (kind > 0)  # (O,) 0: a kind that is not learned here
    place = (sentence * words + first) * words + last
    together = likely.new_zeros(len(gold.annotated) * words * words).index_add(0, place, likely)  # of all labels of a span
    likely = likely / together[place].clamp(min=1.0)
    added = likely * (logits[sentence, 0, first, last] - logits[sentence, kind, first, last])  # (O,)
    return (share[sentence, first, last] * added).sum()


def _kinds(entities: Gold | Opinions, labels: int, kinds: int) -> Tensor:
    of_gaps = entities.label + 1 + labels if kinds > 1 + labels else torch.zeros_like(entities.label)
    return torch.where(entities.contiguous, entities.label + 1, of_gaps)
