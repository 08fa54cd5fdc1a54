"""The targets of a training batch: gold entities, and soft labels from other models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
IMPOSSIBLE = -1e4
"""Logit of an impossible class; finite, as it may be the target's."""
WHOLE = 1000
"""Probabilities are copied to the device as integers, in thousandths."""


@dataclass(frozen=True, slots=True)
class GoldArrays:
    """The entities of `Gold` on the host, for targets and sizes computed without waiting for the device."""

    sentence: Integers
    label: Integers
    first: Integers
    last: Integers
    words: Integers
    offsets: Integers

    def only(self, kept: Flags) -> GoldArrays:
        """Only the entities selected by `kept` (E,)."""
        words, offsets = only_groups(self.words, self.offsets, kept)
        return GoldArrays(self.sentence[kept], self.label[kept], self.first[kept], self.last[kept], words, offsets)


def only_groups(values: Integers, offsets: Integers, kept: Flags) -> tuple[Integers, Integers]:
    """The kept groups of flat values, and their new offsets."""
    sizes = np.diff(offsets)
    return values[np.repeat(kept, sizes)], np.concatenate([[0], np.cumsum(sizes[kept])])


@dataclass(frozen=True, slots=True)
class SoftLabels:
    """Entities that other models predicted, with their probabilities: targets beside gold for losses over all spans."""

    sentence: Tensor  # (O,)
    label: Tensor  # (O,)
    first: Tensor  # (O,)
    last: Tensor  # (O,)
    contiguous: Tensor  # (O,) bool
    thousandths: Tensor  # (O,) probability of each; an integer, to be copied with all others
    has_soft_labels: Tensor  # (B,) bool
    covers_discontinuous: Tensor  # (B,) bool: the models could predict discontinuous entities; if not, only gold is used for them
    soft_label_weight: float
    """Weight of the soft labels in the targets of a sentence that has them; gold has the rest."""
    labels: int
    """C. Kinds of spans beyond these (fragments) have no soft labels: only gold is used for them."""

    @property
    def probability(self) -> Tensor:
        return self.thousandths / WHOLE  # (O,)

    @property
    def weight(self) -> Tensor:
        """Weight of the soft labels in the targets of each sentence: (B,)."""
        return self.has_soft_labels * self.soft_label_weight


@dataclass(frozen=True, slots=True)
class Gold:
    """Entities of a batch in words, flat: entity e lies in `sentence[e]`, its words are `words[offsets[e] : offsets[e + 1]]`."""

    sentence: Tensor  # (E,)
    label: Tensor  # (E,)
    first: Tensor  # (E,) first word
    last: Tensor  # (E,) last word, inclusive
    contiguous: Tensor  # (E,) bool
    first_end: Tensor  # (E,) last word of the first fragment
    last_start: Tensor  # (E,) first word of the last fragment
    words: Tensor  # (W,) word indices in their sentences
    offsets: Tensor  # (E + 1,)
    annotated: Tensor  # (B, C) bool: label was annotated there; others give no loss
    all_annotated: bool
    """Whether all labels were annotated in all sentences, on the host."""
    counts: tuple[int, ...]
    """Entities of each sentence, on the host."""
    host: GoldArrays
    soft_labels: SoftLabels | None = None

    def known(self, logits: Tensor, sentence: Tensor | None = None) -> Tensor:
        """The logits (N, 1 + C, …) with labels impossible where they were not annotated; class 0 is no entity.

        `sentence` (N,) is that of each row; none: one row per sentence. With 1 + 2 C classes, each label has two.
        """
        if self.all_annotated:
            return logits
        kinds = (logits.shape[1] - 1) // self.annotated.shape[1]
        unknown = functional.pad((~self.annotated).repeat(1, kinds), (1, 0))  # (B, classes)
        unknown = unknown if sentence is None else unknown[sentence]
        return logits.masked_fill(unknown.view(*unknown.shape, *[1] * (logits.dim() - 2)), IMPOSSIBLE)

    def span_targets(self, words: int) -> Tensor:
        """The probability that each span is a contiguous entity of each label: (B, C, M, M), float32."""
        sentences, labels = self.annotated.shape
        size = (sentences, labels, words, words)
        target = _span_table(self, self.contiguous.float(), size)
        if self.soft_labels is None:
            return target
        soft = _span_table(self.soft_labels, self.soft_labels.contiguous * self.soft_labels.probability, size)
        known = torch.arange(labels, device=target.device) < self.soft_labels.labels  # (C,)
        return target.lerp(soft, (self.soft_labels.weight[:, None] * known)[:, :, None, None])


def _span_table(entities: Gold | SoftLabels, values: Tensor, size: tuple[int, int, int, int]) -> Tensor:
    """The values (E,) at the labels, first and last words of entities, 0 elsewhere: (B, C, M, M)."""
    _, labels, words, _ = size
    place = ((entities.sentence * labels + entities.label) * words + entities.first) * words + entities.last  # (E,)
    # no boolean indexing: it would make the host wait for the device
    return values.new_zeros(size).flatten().scatter_reduce(0, place, values, "amax").view(size)
