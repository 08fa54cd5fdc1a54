"""Which examples go together in each step of an epoch: of like length, shuffled, the same for the same seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anyner.inference.batching import batches
from anyner.training.config import TrainingConfig

_POOL = 50
"""Batches that are sorted by length together: enough to save padding, few enough to keep each batch a random sample."""


def epoch_plan(sizes: Sequence[int], alike: Sequence[int], config: TrainingConfig, epoch: int) -> list[list[int]]:
    """The epoch's batches as indices into the examples, which are `alike` if these numbers are, and take up `sizes`."""
    random = np.random.default_rng([config.seed, epoch])
    order = random.permutation(len(sizes)).tolist()
    pool = _POOL * config.batch_sentences
    plan: list[list[int]] = []
    for start in range(0, len(order), pool):
        sorted_pool = sorted(order[start : start + pool], key=alike.__getitem__)
        plan.extend(batches(sizes, sorted_pool, config.batch_tokens, config.batch_sentences))
    return [plan[i] for i in random.permutation(len(plan))]
