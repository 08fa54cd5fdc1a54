"""Discontinuous entities for heads that predict spans: fragments are extra kinds of spans, and pairs of them are joined.

A head with C labels predicts 2 C kinds of spans by its own method: entities of each label, and fragments of discontinuous
entities of each label. `FragmentPairs` scores whether two fragments belong to one entity; `architectures/decode.py` joins them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from anyner.encoding.encoder import States
from anyner.encoding.gold import Gold, GoldArrays
from anyner.layers.spanpool import at_words

Integers = NDArray[np.int64]
DISTANCES = 16
"""Distances between two fragments with an embedding each; all longer distances share the last."""
PRIOR = 0.01
"""Initial probability of every pair: few belong to one entity, and learning that first would disturb the encoder."""


class FragmentPairs(nn.Module):
    """Scores whether two fragments belong to one entity: a logit per label, from both fragments and the words between."""

    def __init__(self, word_width: int, width: int, labels: int, *, dropout: float) -> None:
        super().__init__()
        self.labels = labels
        self.read = nn.Linear(word_width, 5 * width)
        """Five vectors per word: as start and end of the left fragment, as start and end of the right one, and between them."""
        self.distance = nn.Embedding(DISTANCES, width)
        self.hidden = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(width, labels)
        nn.init.constant_(self.output.bias, math.log(PRIOR / (1 - PRIOR)))

    def forward(self, words: Tensor, pairs: Tensor) -> Tensor:
        """Logits (R, C), float32, of pairs (R, 5): sentence, and first and last word of both fragments. `words` is (B, M, d)."""
        sentence, ends = pairs[:, 0], pairs[:, 1:]  # (R,), (R, 4)
        read, size = self.read(words), words.shape[1]  # (B, M, 5k)
        roles = read.view(-1, self.distance.embedding_dim)  # (B M 5, k)
        row = (sentence[:, None] * size + ends) * 5 + torch.arange(4, device=ends.device)  # (R, 4)
        vector = roles.index_select(0, row.flatten()).view(-1, 4, roles.shape[1]).sum(1)  # (R, k)
        between = read[..., -roles.shape[1] :].float().cumsum(1)  # (B, M, k) prefix sums: a mean takes two gathers
        gap = ends[:, 2] - ends[:, 1] - 1  # (R,) at least 1
        mean = (at_words(between, sentence, ends[:, 2] - 1) - at_words(between, sentence, ends[:, 1])) / gap.clamp(min=1)[:, None]
        vector = vector + mean.to(vector.dtype) + self.distance(gap.clamp(0, DISTANCES - 1)).to(vector.dtype)
        vector = functional.gelu(self.hidden(self.dropout(functional.gelu(vector))))
        logits: Tensor = self.output(self.dropout(vector))
        return logits.float()

    def loss(self, states: States, gold: Gold) -> tuple[Tensor, Tensor]:
        """Binary cross-entropy over the training pairs: its sum, and the number of pairs."""
        pairs, together = training_pairs(gold.host, self.labels)
        target = states.placed(together.astype(np.float32))  # (R, C)
        placed = states.placed(pairs)  # (R, 5)
        loss = functional.binary_cross_entropy_with_logits(self(states.words, placed), target, reduction="none")
        if not gold.all_annotated:
            loss = loss * gold.annotated[placed[:, 0]]
        return loss.sum(), loss.new_full((), max(1, len(pairs)))


def with_fragments(gold: Gold, states: States) -> Gold:
    """The gold as spans: a discontinuous entity with label c becomes its fragments, which are spans of kind C + c."""
    labels, host = gold.annotated.shape[1], gold.host
    spans = _Fragments.of(host)
    kind = np.where(spans.whole, 0, labels) + host.label[spans.entity]
    rows = np.unique(np.stack([host.sentence[spans.entity], spans.first, spans.last, kind], axis=1), axis=0)  # each once
    sentence, first, last, kind = np.ascontiguousarray(rows.T)
    sizes = last - first + 1
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    words = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes) + np.repeat(first, sizes)
    arrays = GoldArrays(sentence, kind, first, last, words, offsets)
    starts, ends = states.placed(first), states.placed(last)  # (E,) each
    return replace(
        gold,
        sentence=states.placed(sentence),
        label=states.placed(kind),
        first=starts,
        last=ends,
        contiguous=torch.ones_like(starts, dtype=torch.bool),
        first_end=ends,
        last_start=starts,
        words=states.placed(words),
        offsets=states.placed(offsets),
        annotated=gold.annotated.repeat(1, 2),
        counts=tuple(np.bincount(sentence, minlength=len(gold.counts)).tolist()),
        host=arrays,
    )


@dataclass(frozen=True, slots=True)
class _Fragments:
    """The fragments of all entities in one list; a contiguous entity is one fragment."""

    entity: Integers  # (F,)
    first: Integers  # (F,)
    last: Integers  # (F,)
    whole: NDArray[np.bool_]  # (F,) the only fragment of its entity

    @classmethod
    def of(cls, gold: GoldArrays) -> _Fragments:
        owner = np.repeat(np.arange(len(gold.sentence)), np.diff(gold.offsets))  # (W,)
        apart = (np.diff(gold.words) != 1) | (np.diff(owner) != 0)  # (W - 1,) between two words
        starts, ends = (np.flatnonzero(np.insert(apart, place, True)[: len(owner)]) for place in (0, len(apart)))  # (F,) each
        entity = owner[starts]
        whole = np.bincount(entity, minlength=len(gold.sentence))[entity] == 1
        return cls(entity, gold.words[starts], gold.words[ends], whole)


def training_pairs(gold: GoldArrays, labels: int) -> tuple[Integers, NDArray[np.bool_]]:
    """Training pairs (R, 5), sentence and first and last word of both, and the labels of the entities that have both (R, C).

    A pair has at least one gold span (a fragment or a contiguous entity); the other may be a fragment with its start or end
    off by one word, as a model may propose it.
    """
    spans = _Fragments.of(gold)
    true = np.stack([gold.sentence[spans.entity], spans.first, spans.last], axis=1)  # (F, 3)
    split = np.flatnonzero(~spans.whole)
    off = np.concatenate([true[split] + np.array([0, *shift]) for shift in ((1, 0), (-1, 0), (0, 1), (0, -1))])
    ends = np.zeros(gold.sentence.max(initial=-1) + 1, dtype=np.int64)  # words after the last entity are unknown here
    np.maximum.at(ends, gold.sentence, gold.last)
    off = off[(off[:, 1] >= 0) & (off[:, 1] <= off[:, 2]) & (off[:, 2] <= ends[off[:, 0]])]
    candidates, number = np.unique(np.concatenate([true, off]), axis=0, return_inverse=True)  # (N, 3), and of each the row
    number = number.reshape(-1)[: len(true)]  # (F,)
    is_gold = np.zeros(len(candidates), dtype=np.bool_)
    is_gold[number] = True
    sentence, first, last = candidates.T
    paired = (sentence[:, None] == sentence) & (last[:, None] + 1 < first) & (is_gold[:, None] | is_gold)  # (N, N)
    left, right = np.nonzero(paired)
    place = np.zeros(paired.shape, dtype=np.int64)
    place[left, right] = np.arange(len(left))
    together = np.zeros((len(left), labels), dtype=np.bool_)
    entity = spans.entity[split]
    one, other = np.nonzero((entity[:, None] == entity) & (spans.last[split][:, None] < spans.first[split]))
    together[place[number[split[one]], number[split[other]]], gold.label[entity[one]]] = True
    return np.stack([sentence[left], first[left], last[left], first[right], last[right]], axis=1), together
