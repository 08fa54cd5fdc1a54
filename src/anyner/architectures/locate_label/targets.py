"""What the sampled seeds should become, on the device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from anyner.architectures.locate_label.seeds import Seeds
from anyner.encoding.encoder import States
from anyner.layers.contiguous import Entities
from anyner.layers.spanpool import Spans

_NOWHERE = -9
"""Where an entity that only fills up a row lies: it overlaps nothing."""


@dataclass(frozen=True, slots=True)
class Targets:
    """Q sampled seeds, each with the entity it overlaps most."""

    seeds: Spans
    iou: Tensor  # (Q,)
    positive: Tensor  # (Q,) bool
    offsets: Tensor  # (Q, 2) words from the seed's first and last word to the entity's; only those of positives mean anything
    gold: Tensor  # (3, B, G) first word, last word, label of each sentence's entities

    @classmethod
    def of(cls, states: States, seeds: Seeds, entities: Entities, positive_iou: float) -> Targets:
        place = np.stack([seeds.sentence, seeds.first, seeds.last])  # (3, Q)
        wanted = place[1:]
        if len(entities):
            wanted = np.stack([entities.first[seeds.entity], entities.last[seeds.entity]])
        sentence, first, last, wanted_first, wanted_last = states.placed(np.concatenate([place, wanted]))  # (Q,) each
        iou = states.placed(seeds.iou)
        offsets = torch.stack([wanted_first - first, wanted_last - last], dim=1).float()
        rows = entities.rows(len(states.lengths), fill=_NOWHERE)
        gold = states.placed(np.stack([rows.first, rows.last, rows.label]))
        return cls(Spans(sentence, first, last), iou, iou > positive_iou, offsets, gold)

    def labels_at(self, moved: Spans, label_iou: float) -> tuple[Tensor, Tensor]:
        """The label of each moved span, 0 for no entity and else 1 more than its number, and its largest IoU: (Q,) each."""
        first, last, label = self.gold[:, moved.sentence]  # (Q, G) each
        shared = torch.minimum(last, moved.last[:, None]) - torch.maximum(first, moved.first[:, None]) + 1
        around = torch.maximum(last, moved.last[:, None]) - torch.minimum(first, moved.first[:, None]) + 1
        iou, nearest = (shared.clamp(min=0).float() / around.float()).max(1)  # (Q,) each
        own = label.gather(1, nearest[:, None])[:, 0] + 1
        return torch.where(iou >= label_iou, own, 0), iou


def shifted(seeds: Spans, offsets: Tensor, last_word: Tensor) -> Spans:
    """Equations 6 and 7: rounded, half up, held within the sentence. A seed whose ends would pass each other stays as it is."""
    move = torch.floor(offsets + 0.5).long()  # (N, 2)
    end = last_word[seeds.sentence]
    first = torch.minimum((seeds.first + move[:, 0]).clamp(min=0), end)
    last = torch.minimum((seeds.last + move[:, 1]).clamp(min=0), end)
    passed = first > last
    return Spans(seeds.sentence, torch.where(passed, seeds.first, first), torch.where(passed, seeds.last, last))
