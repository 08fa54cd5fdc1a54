"""Seed spans and what each should become (section 2.2 of the paper); in training on the host, where nothing waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anyner.layers.contiguous import Entities, number_in_sentence

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Seeds:
    """Q seed spans with the entity that each overlaps most."""

    sentence: Integers  # (Q,)
    first: Integers  # (Q,)
    last: Integers  # (Q,) inclusive
    iou: Floats  # (Q,) with that entity
    entity: Integers  # (Q,) its index; 0 where the IoU is 0

    def __len__(self) -> int:
        return len(self.sentence)

    def __getitem__(self, chosen: Integers | Flags) -> Seeds:
        return Seeds(*(getattr(self, name)[chosen] for name in Seeds.__slots__))

    def joined(self, other: Seeds) -> Seeds:
        return Seeds(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in Seeds.__slots__))


def enumerated(words: Tensor, most: int, lengths: Sequence[int]) -> Tensor:
    """Which spans are seeds: (B, L, M) by sentence, words less one, first word. What runs over the end is cut off there.

    Sentences have `words` (B,) words, at most `most`.
    """
    device, longest = words.device, min(max(lengths), most)
    wanted = torch.tensor([length in lengths for length in range(1, longest + 1)]).to(device, non_blocking=True)  # (L,)
    length = torch.arange(1, longest + 1, device=device)[:, None]  # (L, 1)
    left = words[:, None, None] - torch.arange(most, device=device)  # (B, 1, M) words from each word to the end
    return (wanted[:, None] & (length <= left)) | (length == left)


def intersection_over_union(first: Integers, last: Integers, other_first: Integers, other_last: Integers) -> Floats:
    """IoU of spans in words, broadcast."""
    shared = np.minimum(last, other_last) - np.maximum(first, other_first) + 1
    union = np.maximum(last, other_last) - np.minimum(first, other_first) + 1
    iou: Floats = np.maximum(shared, 0).astype(np.float32) / union.astype(np.float32)  # apart: the numerator is 0
    return iou


@dataclass(frozen=True, slots=True)
class Rule:
    """Which seeds a training reads."""

    lengths: tuple[int, ...]
    positive_iou: float
    """Above this IoU with an entity a seed is a positive."""
    negatives: int
    """Negatives for each positive of a sentence …"""
    spare: int
    """… and beyond these."""


def sampled(words: Sequence[int], entities: Entities, rule: Rule, chance: Floats) -> Seeds:
    """All positive seeds, gold that is no seed, and some negatives: of each sentence those with the smallest numbers.

    `chance` (B, …) has a number for each of a sentence's seeds, in the order of `enumerated`. Only the few that are drawn are
    ever compared with the entities.
    """
    grid = enumerated(torch.tensor(words), max(words), rule.lengths).numpy()  # (B, L, M)
    positive = _positive(grid, entities, rule.positive_iou)
    count = np.bincount(positive.sentence, minlength=len(words))  # (B,)
    room = count * rule.negatives + rule.spare  # (B,)
    drawn = _smallest(grid, chance, room + count)  # so many hold `room` negatives, whichever of them are positives
    iou, entity = _nearest(drawn, entities)
    negative = iou <= rule.positive_iou
    sentence, first, last = (part[negative] for part in drawn)
    kept = number_in_sentence(sentence, len(words)) < room[sentence]
    others = Seeds(sentence[kept], first[kept], last[kept], iou[negative][kept], entity[negative][kept])
    return positive.joined(others)


def _positive(grid: Flags, entities: Entities, least: float) -> Seeds:
    """Every seed above that IoU with its nearest entity, and every gold span, by sentence."""
    longest = grid.shape[1]
    # A seed above it starts at most (1 - least) of its length before, or of the entity's after the entity does.
    before, after = (int((1 - least) * most) + 1 for most in (longest, longest / max(least, 0.01)))
    length = np.arange(longest)[:, None]
    first = entities.first[:, None, None] + np.arange(-before, min(after, grid.shape[2]) + 1)  # (E, 1, W)
    last = first + length  # (E, L, W)
    near = intersection_over_union(first, last, entities.first[:, None, None], entities.last[:, None, None]) > least
    entity, length_at, shift = near.nonzero()
    first = first[entity, 0, shift]
    inside = (first >= 0) & (first < grid.shape[2])
    entity, length_at, first = entity[inside], length_at[inside], first[inside]
    enumerated_ones = grid[entities.sentence[entity], length_at, first]
    entity, first = entity[enumerated_ones], first[enumerated_ones]
    last = first + length_at[enumerated_ones]
    every = np.arange(len(entities))  # gold is there whether or not it is a seed
    entity, first, last = (np.concatenate(pair) for pair in ((entity, every), (first, entities.first), (last, entities.last)))
    iou = intersection_over_union(first, last, entities.first[entity], entities.last[entity])
    sentence = entities.sentence[entity]
    best = np.lexsort((entity, -iou, last, first, sentence))  # the nearest entity of a span first
    place = np.stack([sentence, first, last])[:, best]
    once = np.concatenate([[True], (place[:, 1:] != place[:, :-1]).any(0)])[: len(best)]
    chosen = best[once]
    return Seeds(sentence[chosen], first[chosen], last[chosen], iou[chosen], entity[chosen])


def _smallest(grid: Flags, chance: Floats, wanted: Integers) -> tuple[Integers, Integers, Integers]:
    """Sentence, first and last word of the seeds with each sentence's smallest numbers, in their order; `wanted` (B,) of them."""
    sentence, length, first = grid.nonzero()
    counts = np.bincount(sentence, minlength=len(grid))
    number = chance[sentence, number_in_sentence(sentence, len(grid))]
    # Sorting all of them would take most of the time: what is far above the wanted share is left out first.
    share = (wanted + 4 * np.sqrt(wanted) + 4) / np.maximum(counts, 1)
    low = np.flatnonzero(number < share[sentence])
    scarce = np.bincount(sentence[low], minlength=len(grid)) < np.minimum(wanted, counts)
    if scarce.any():
        low = np.flatnonzero((number < share[sentence]) | scarce[sentence])
    low = low[np.argsort(sentence[low] + number[low].astype(np.float64), kind="stable")]
    low = low[number_in_sentence(sentence[low], len(grid)) < wanted[sentence[low]]]
    return sentence[low], first[low], first[low] + length[low]


def _nearest(spans: tuple[Integers, Integers, Integers], entities: Entities) -> tuple[Floats, Integers]:
    """The largest IoU of each span with an entity of its sentence, and the entity's index, of equal ones the first: (N,) each."""
    sentence, first, last = spans
    iou, nearest = np.zeros(len(sentence), dtype=np.float32), np.zeros(len(sentence), dtype=np.int64)
    counts = np.bincount(entities.sentence, minlength=int(sentence.max(initial=-1)) + 1)
    begins = np.cumsum(counts) - counts
    for number in range(int(counts.max(initial=0))):  # a sentence has few entities
        among = np.flatnonzero(counts[sentence] > number)
        entity = begins[sentence[among]] + number
        own = intersection_over_union(first[among], last[among], entities.first[entity], entities.last[entity])
        better = own > iou[among]
        iou[among[better]], nearest[among[better]] = own[better], entity[better]
    return iou, nearest
