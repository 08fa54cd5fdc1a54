"""The batches of each epoch: passages of similar length, shuffled, the same for the same seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyner.encoding.examples import Example
from anyner.inference.batching import batches
from anyner.training.config import TrainingConfig
from anyner.training.data.passages import Passage, Passages

_POOL = 50
"""Batches sorted by length together: enough to save padding, few enough to keep each batch a random sample."""


@dataclass(frozen=True, slots=True)
class EpochPlan:
    """The batches of one epoch, each as numbers of its passages."""

    passages: tuple[Passage, ...]
    batches: tuple[tuple[int, ...], ...]


class EpochPlans:
    """The batches of every epoch of a training."""

    def __init__(self, passages: Passages, extra: int, config: TrainingConfig) -> None:
        """`extra`: pieces that each row has besides those of its window."""
        self._passages, self._extra, self._config = passages, extra, config

    def of(self, epoch: int) -> EpochPlan:
        """Epochs count from 0. All frozen epochs use the passages of the first, which are encoded once."""
        drawn = tuple(self._passages.of(0 if epoch < self._config.frozen_epochs else epoch))
        sizes = [self._passages.size(passage) + self._extra for passage in drawn]
        sentences = [len(passage.sentences) for passage in drawn]
        return EpochPlan(drawn, tuple(map(tuple, epoch_batches(sizes, sentences, self._config, epoch))))

    def examples(self, passages: Sequence[Passage]) -> list[Example]:
        return [self._passages.example(passage) for passage in passages]


def epoch_batches(sizes: Sequence[int], sentences: Sequence[int], config: TrainingConfig, epoch: int) -> list[list[int]]:
    """An epoch's batches, as indices into the sizes of its passages and the numbers of their sentences."""
    random = np.random.default_rng([config.seed, epoch])
    order = random.permutation(len(sizes)).tolist()
    pool = max(1, round(_POOL * config.batch_sentences * len(sizes) / max(1, sum(sentences))))
    plan: list[list[int]] = []
    for start in range(0, len(order), pool):
        sorted_pool = sorted(order[start : start + pool], key=sizes.__getitem__)
        plan.extend(batches(sizes, sorted_pool, config.batch_tokens, config.batch_sentences, sentences))
    return [plan[i] for i in random.permutation(len(plan))]
