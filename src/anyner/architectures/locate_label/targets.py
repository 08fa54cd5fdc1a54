"""Training: which seed spans are read, what each of them should become, and the losses (sections 2.2 and 2.5 of the paper).

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
Flags = NDArray[np.bool_]
EXTRA_NEGATIVES = 2
"""Negatives of a sentence beyond those for its positives, so that sentences without entities count, too."""
FOCAL_GAMMA = 2.0
"""Exponent of the focal loss."""
_NOWHERE = -9
"""Word of an entity that only pads: it overlaps nothing."""


@dataclass(frozen=True, slots=True)
class Seeds:
    """Q seed spans, each with the entity it overlaps most."""

    sentence: Integers  # (Q,)
    first: Integers  # (Q,)
    last: Integers  # (Q,) inclusive
    iou: Floats  # (Q,) with that entity
    entity: Integers  # (Q,) its index; 0 where the IoU is 0

    def __len__(self) -> int:
        return len(self.sentence)

    def __getitem__(self, index: Integers | Flags) -> Seeds:
        return Seeds(*(getattr(self, name)[index] for name in Seeds.__slots__))

    def __add__(self, other: Seeds) -> Seeds:
        return Seeds(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in Seeds.__slots__))


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which seeds training reads."""

    lengths: tuple[int, ...]
    positive_iou: float
    """A seed above this IoU with an entity is a positive."""
    negatives: int
    """Negatives for each positive of a sentence; `EXTRA_NEGATIVES` come on top."""


def enumerate_seeds(words: Tensor, most: int, lengths: Sequence[int]) -> Tensor:
    """Which spans are seeds: (B, L, M) by sentence, length - 1, first word. The end of the sentence cuts seeds off.

    `words` (B,) are the sentences' lengths, of at most `most` words.
    """
    device, longest = words.device, min(max(lengths), most)
    listed = torch.tensor([length in lengths for length in range(1, longest + 1)]).to(device, non_blocking=True)  # (L,)
    length = torch.arange(1, longest + 1, device=device)[:, None]  # (L, 1)
    left = words[:, None, None] - torch.arange(most, device=device)  # (B, 1, M) words from each word to the end
    return (listed[:, None] & (length <= left)) | (length == left)


def intersection_over_union(first: Integers, last: Integers, other_first: Integers, other_last: Integers) -> Floats:
    """IoU of spans in words, broadcast."""
    shared = np.minimum(last, other_last) - np.maximum(first, other_first) + 1
    union = np.maximum(last, other_last) - np.minimum(first, other_first) + 1
    iou: Floats = np.maximum(shared, 0).astype(np.float32) / union.astype(np.float32)  # disjoint: the numerator is 0
    return iou


def sample_seeds(words: Sequence[int], entities: Entities, sampling: Sampling, chance: Floats) -> Seeds:
    """All positive seeds, gold spans that are not seeds, and the negatives with each sentence's smallest random numbers.

    `chance` (B, …) has a number for each seed of a sentence, in the order of `enumerate_seeds`. Only the few that are drawn are
    compared with the entities.
    """
    grid = enumerate_seeds(torch.tensor(words), max(words), sampling.lengths).numpy()  # (B, L, M)
    positive = _positive_seeds(grid, entities, sampling.positive_iou)
    count = np.bincount(positive.sentence, minlength=len(words))  # (B,)
    room = count * sampling.negatives + EXTRA_NEGATIVES  # (B,)
    drawn = _draw(grid, chance, room + count)  # enough for `room` negatives even if all positives are among them
    iou, entity = _nearest_entity(drawn, entities)
    negative = iou <= sampling.positive_iou
    sentence, first, last = (part[negative] for part in drawn)
    kept = number_in_sentence(sentence, len(words)) < room[sentence]
    return positive + Seeds(sentence, first, last, iou[negative], entity[negative])[kept]


def _positive_seeds(grid: Flags, entities: Entities, least: float) -> Seeds:
    """Every seed above that IoU with its nearest entity, and every gold span, sorted by sentence."""
    longest = grid.shape[1]
    # Such a seed starts at most (1 - least) of its length before the entity, or of the entity's length after it.
    before, after = (int((1 - least) * most) + 1 for most in (longest, longest / max(least, 0.01)))
    first = entities.first[:, None, None] + np.arange(-before, min(after, grid.shape[2]) + 1)  # (E, 1, W)
    last = first + np.arange(longest)[:, None]  # (E, L, W)
    near = intersection_over_union(first, last, entities.first[:, None, None], entities.last[:, None, None]) > least
    entity, length, start = near.nonzero()  # (P,) each
    first = first[entity, 0, start]
    inside = (first >= 0) & (first < grid.shape[2])
    entity, length, first = entity[inside], length[inside], first[inside]
    is_seed = grid[entities.sentence[entity], length, first]
    entity, first, last = entity[is_seed], first[is_seed], (first + length)[is_seed]
    gold = np.arange(len(entities))
    entity, first, last = (np.concatenate(pair) for pair in ((entity, gold), (first, entities.first), (last, entities.last)))
    iou = intersection_over_union(first, last, entities.first[entity], entities.last[entity])
    found = Seeds(entities.sentence[entity], first, last, iou, entity)
    found = found[np.lexsort((entity, -iou, last, first, found.sentence))]  # equal spans side by side, nearest entity first
    place = np.stack([found.sentence, found.first, found.last])
    return found[np.concatenate([[True], (place[:, 1:] != place[:, :-1]).any(0)])[: len(found)]]


def _draw(grid: Flags, chance: Floats, count: Integers) -> tuple[Integers, Integers, Integers]:
    """Sentence, first and last word of the `count` (B,) seeds of each sentence with the smallest numbers, in their order."""
    sentence, length, first = grid.nonzero()
    seeds = np.bincount(sentence, minlength=len(grid))
    number = chance[sentence, number_in_sentence(sentence, len(grid))]
    # Sorting all seeds would take most of the time, so those with numbers far above the share drawn are left out first.
    share = (count + 4 * np.sqrt(count) + 4) / np.maximum(seeds, 1)
    low = np.flatnonzero(number < share[sentence])
    too_few = np.bincount(sentence[low], minlength=len(grid)) < np.minimum(count, seeds)
    if too_few.any():
        low = np.flatnonzero((number < share[sentence]) | too_few[sentence])
    low = low[np.argsort(sentence[low] + number[low].astype(np.float64), kind="stable")]
    low = low[number_in_sentence(sentence[low], len(grid)) < count[sentence[low]]]
    return sentence[low], first[low], first[low] + length[low]


def _nearest_entity(spans: tuple[Integers, Integers, Integers], entities: Entities) -> tuple[Floats, Integers]:
    """The largest IoU of each span with an entity of its sentence, and that entity's index; the first wins a tie: (N,) each."""
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


@dataclass(frozen=True, slots=True)
class Targets:
    """Q sampled seeds on the device, each with the entity it overlaps most."""

    seeds: Spans
    iou: Tensor  # (Q,)
    positive: Tensor  # (Q,) bool
    offsets: Tensor  # (Q, 2) words from the seed's first and last word to the entity's; meaningless for negatives
    gold: Tensor  # (3, B, G) first word, last word and label of each sentence's entities

    @classmethod
    def of(cls, states: States, seeds: Seeds, entities: Entities, positive_iou: float) -> Targets:
        spans = np.stack([seeds.sentence, seeds.first, seeds.last])  # (3, Q)
        nearest = spans[1:]
        if len(entities):
            nearest = np.stack([entities.first[seeds.entity], entities.last[seeds.entity]])
        sentence, first, last, entity_first, entity_last = states.placed(np.concatenate([spans, nearest]))  # (Q,) each
        iou = states.placed(seeds.iou)
        offsets = torch.stack([entity_first - first, entity_last - last], dim=1).float()
        padded = entities.rows(len(states.lengths), fill=_NOWHERE)
        gold = states.placed(np.stack([padded.first, padded.last, padded.label]))
        return cls(Spans(sentence, first, last), iou, iou > positive_iou, offsets, gold)

    def labels_at(self, shifted: Spans, label_iou: float) -> tuple[Tensor, Tensor]:
        """The class of each shifted span, 0 for no entity or label + 1, and its largest IoU: (Q,) each."""
        first, last, label = self.gold[:, shifted.sentence]  # (Q, G) each
        shared = torch.minimum(last, shifted.last[:, None]) - torch.maximum(first, shifted.first[:, None]) + 1
        union = torch.maximum(last, shifted.last[:, None]) - torch.minimum(first, shifted.first[:, None]) + 1
        iou, nearest = (shared.clamp(min=0).float() / union.float()).max(1)  # (Q,) each
        own = label.gather(1, nearest[:, None])[:, 0] + 1
        return torch.where(iou >= label_iou, own, 0), iou


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
