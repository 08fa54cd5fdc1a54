"""Which examples go together in each step of an epoch: of like length, shuffled, the same for the same seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anyner.encoding.gold import Example
from anyner.inference.batching import batches, likeness, window_size
from anyner.training.config import TrainingConfig

_POOL = 50
"""Batches that are sorted by length together: enough to save padding, few enough to keep each batch a random sample."""


class EpochPlans:
    """The batches of every epoch of a training."""

    def __init__(self, examples: Sequence[Example], extra: int, config: TrainingConfig) -> None:
        """`extra` pieces stand in each row beside those of its window."""
        self._examples, self._config = examples, config
        self._sizes = [window_size(example.window) + extra for example in examples]
        self._alike = [likeness(example.window) for example in examples]

    def of(self, epoch: int) -> list[list[int]]:
        """As indices into the examples; the first epoch is 0."""
        return epoch_plan(seen_in(self._examples, epoch), self._sizes, self._alike, self._config, epoch)


def seen_in(examples: Sequence[Example], epoch: int) -> list[int]:
    """Which examples an epoch has, each as often as it is to be seen; the first epoch is 0."""
    return [
        place
        for place, example in enumerate(examples)
        if example.last_epoch is None or epoch < example.last_epoch
        for _ in range(example.times)
    ]


def epoch_plan(
    seen: Sequence[int], sizes: Sequence[int], alike: Sequence[int], config: TrainingConfig, epoch: int
) -> list[list[int]]:
    """The epoch's batches as indices into the examples, those that are `seen` in it.

    Examples are `alike` if these numbers are, and take up `sizes`.
    """
    random = np.random.default_rng([config.seed, epoch])
    order = random.permutation(np.asarray(seen, dtype=np.int64)).tolist()
    pool = _POOL * config.batch_sentences
    plan: list[list[int]] = []
    for start in range(0, len(order), pool):
        sorted_pool = sorted(order[start : start + pool], key=alike.__getitem__)
        plan.extend(batches(sizes, sorted_pool, config.batch_tokens, config.batch_sentences))
    return [plan[i] for i in random.permutation(len(plan))]
