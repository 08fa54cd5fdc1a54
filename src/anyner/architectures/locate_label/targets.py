"""Seed sampling, training targets and losses (sections 2.2 and 2.5 of the paper).

Seeds are sampled on the host, in numpy; targets and losses are on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from anyner.encoding.encoder import States
from anyner.layers.contiguous import Entities, number_in_sentence
from anyner.layers.spanpool import Spans

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]
POSITIVE_IOU = 0.7
"""A seed above this IoU with an entity is a positive of the first stage: the paper's alpha 1."""
LABEL_IOU = 1.0
"""A shifted span with at least this IoU gets the entity's label: the paper's alpha 2."""
EXTRA_NEGATIVES = 2
"""Additional negatives per sentence, so that sentences without entities are trained on, too."""
FOCAL_GAMMA = 2.0
"""Exponent of the focal loss."""
_NOWHERE = -9
"""First and last word of padding entities: these overlap nothing."""


def enumerate_seeds(words: Tensor, most: int, lengths: Sequence[int]) -> Tensor:
    """Which spans are seeds: (B, L, M) by sentence, length - 1, first word. The end of the sentence cuts seeds off.

    `words` (B,) are the sentences' lengths, of at most `most` words.
    """
    device, longest = words.device, min(max(lengths), most)
    listed = torch.tensor([length in lengths for length in range(1, longest + 1)]).to(device, non_blocking=True)  # (L,)
    length = torch.arange(1, longest + 1, device=device)[:, None]  # (L, 1)
    left = words[:, None, None] - torch.arange(most, device=device)  # (B, 1, M) words from each word to the end
    return (listed[:, None] & (length <= left)) | (length == left)


def sample_seeds(
    words: Sequence[int], entities: Entities, lengths: Sequence[int], negatives: int, chance: Floats
) -> tuple[Integers, Floats, Integers]:
    """All positive seeds, including gold spans of other lengths, and each sentence's negatives with the smallest random numbers.

    There are `negatives` of them per positive, and a few more. `chance` is (B, M * longest length). Returns sentence, first and
    last word (3, Q), the IoU with the entity that a seed overlaps most (Q,), and the index of that entity (Q,).
    """
    seeds = enumerate_seeds(torch.tensor(words), max(words), lengths).numpy()  # (B, L, M)
    drawn = chance.reshape(len(words), max(words), -1).transpose(0, 2, 1)[:, : seeds.shape[1]]  # (B, L, M)
    size = max(seeds.shape[1], 1 + (entities.last - entities.first).max(initial=0))
    more = ((0, 0), (0, size - seeds.shape[1]), (0, 0))  # room for entities longer than any seed
    seeds, drawn = np.pad(seeds, more), np.pad(drawn, more)
    seeds[entities.sentence, entities.last - entities.first, entities.first] = True
    iou, entity = nearest_entities(seeds.shape, entities)
    chosen = seeds & (iou > POSITIVE_IOU)
    room = chosen.sum((1, 2)) * negatives + EXTRA_NEGATIVES  # (B,)
    negative = seeds & ~chosen
    order = np.where(negative, drawn, 2.0).reshape(len(words), -1).argsort(1, kind="stable")
    picked = np.zeros(order.shape, dtype=np.bool_)
    np.put_along_axis(picked, order, np.arange(order.shape[1]) < room[:, None], 1)
    chosen |= picked.reshape(seeds.shape) & negative
    sentence, length, first = chosen.nonzero()
    return np.stack([sentence, first, first + length]), iou[chosen], entity[chosen]


def nearest_entities(shape: tuple[int, ...], entities: Entities) -> tuple[Floats, Integers]:
    """The largest IoU of each span with an entity of its sentence, and that entity's index; the first wins a tie: (B, L, M)."""
    iou, nearest = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.int64)
    first = np.arange(shape[2])  # (M,)
    last = first + np.arange(shape[1])[:, None]  # (L, M)
    number = number_in_sentence(entities.sentence, shape[0])
    for place in range(number.max(initial=-1) + 1):  # a sentence has few entities
        own = np.flatnonzero(number == place)  # (E,) the entity of this number in each sentence that has one
        sentence, its_first, its_last = entities.sentence[own], entities.first[own, None, None], entities.last[own, None, None]
        shared = np.minimum(last, its_last) - np.maximum(first, its_first) + 1  # (E, L, M)
        union = np.maximum(last, its_last) - np.minimum(first, its_first) + 1
        its_iou = np.maximum(shared, 0).astype(np.float32) / union.astype(np.float32)  # disjoint: the numerator is 0
        better = its_iou > iou[sentence]
        iou[sentence] = np.where(better, its_iou, iou[sentence])
        nearest[sentence] = np.where(better, own[:, None, None], nearest[sentence])
    return iou, nearest


@dataclass(frozen=True, slots=True)
class Targets:
    """Q sampled seeds on the device, each with the entity it overlaps most."""

    seeds: Spans
    iou: Tensor  # (Q,)
    positive: Tensor  # (Q,) bool
    offsets: Tensor  # (Q, 2) words from the seed's first and last word to the entity's; meaningless for negatives
    gold: Tensor  # (3, B, G) first word, last word and label of each sentence's entities

    @classmethod
    def of(cls, states: States, entities: Entities, lengths: Sequence[int], negatives: int, chance: Floats) -> Targets:
        """The targets of seeds that `sample_seeds` samples."""
        spans, overlap, entity = sample_seeds(states.lengths, entities, lengths, negatives, chance)
        nearest = np.stack([entities.first, entities.last])[:, entity] if len(entities.first) else spans[1:]
        sentence, first, last, entity_first, entity_last = states.placed(np.concatenate([spans, nearest]))  # (Q,) each
        iou = states.placed(overlap)
        offsets = torch.stack([entity_first - first, entity_last - last], dim=1).float()
        padded = entities.rows(len(states.lengths), fill=_NOWHERE)
        gold = states.placed(np.stack([padded.first, padded.last, padded.label]))
        return cls(Spans(sentence, first, last), iou, iou > POSITIVE_IOU, offsets, gold)

    def labels_at(self, shifted: Spans) -> tuple[Tensor, Tensor]:
        """The class of each shifted span, 0 for no entity or label + 1, and its largest IoU: (Q,) each."""
        first, last, label = self.gold[:, shifted.sentence]  # (Q, G) each
        shared = torch.minimum(last, shifted.last[:, None]) - torch.maximum(first, shifted.first[:, None]) + 1
        union = torch.maximum(last, shifted.last[:, None]) - torch.minimum(first, shifted.first[:, None]) + 1
        iou, nearest = (shared.clamp(min=0).float() / union.float()).max(1)  # (Q,) each
        own = label.gather(1, nearest[:, None])[:, 0] + 1
        return torch.where(iou >= LABEL_IOU, own, 0), iou


def shift(seeds: Spans, offsets: Tensor, last_word: Tensor) -> Spans:
    """Equations 6 and 7: offsets (N, 2) rounded, half up, within the sentence. A seed whose ends would cross stays as it is."""
    words = torch.floor(offsets + 0.5).long()  # (N, 2)
    end = last_word[seeds.sentence]
    first = torch.minimum((seeds.first + words[:, 0]).clamp(min=0), end)
    last = torch.minimum((seeds.last + words[:, 1]).clamp(min=0), end)
    crossed = first > last
    return Spans(seeds.sentence, torch.where(crossed, seeds.first, first), torch.where(crossed, seeds.last, last))


def soft_weights(iou: Tensor, positive: Tensor) -> Tensor:
    """Equation 11 with eta 1: examples near the border between positive and negative weigh less: (N,)."""
    return torch.where(positive, iou, 1 - iou)


def focal_loss(logit: Tensor, positive: Tensor) -> Tensor:
    """Equation 12 without its weight: (N,)."""
    right = torch.where(positive, logit, -logit)  # (N,) logit of the true answer
    return -(torch.sigmoid(-right) ** FOCAL_GAMMA) * functional.logsigmoid(right)


def regressor_loss(offsets: Tensor, targets: Targets) -> Tensor:
    """Equation 13 for each seed: smooth L1 of both offsets (14) and the overlap loss (15): (Q,)."""
    distance = functional.smooth_l1_loss(offsets, targets.offsets, reduction="none").sum(1)
    seed = torch.stack([targets.seeds.first, targets.seeds.last + 1], dim=1)  # (Q, 2) half-open
    return distance + overlap_loss(seed + offsets, seed + targets.offsets)


def overlap_loss(span: Tensor, target: Tensor) -> Tensor:
    """Equation 15 on continuous, half-open spans (N, 2): from 0 for equal ones to 2 for distant ones: (N,).

    A span whose ends have crossed counts as empty, at its first word.
    """
    first, end = span[:, 0], span.amax(1)
    shared = torch.minimum(end, target[:, 1]) - torch.maximum(first, target[:, 0])
    union = torch.maximum(end, target[:, 1]) - torch.minimum(first, target[:, 0])
    return 1 - shared / union
