"""Which entity each span should become."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anyner.architectures.diffusion_ner.config import Config
from anyner.architectures.diffusion_ner.denoiser import Answers
from anyner.architectures.diffusion_ner.noising import NoisySpans
from anyner.layers.assignment import NOTHING, one_to_one, shared_out
from anyner.layers.contiguous import EntityRows

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]


def by_predictions(cost: Floats, gold: EntityRows, noisy: NoisySpans, kept: Floats, config: Config) -> Integers:
    """The cheapest assignment in each sentence (appendix A): (B, K) entities in their rows, or NOTHING.

    `kept` (B,) is alpha-bar at each sentence's step: what is left of the entity that was noised into a span draws it there.
    """
    drawn_to = noisy.source[:, :, None] == np.arange(cost.shape[2])  # (B, K, G)
    cost = cost - (3 * config.tie * kept)[:, None, None] * drawn_to
    solve = shared_out if config.assignment == "repeat" else one_to_one
    assigned = np.full(cost.shape[:2], NOTHING, dtype=np.int64)
    for sentence in np.flatnonzero(gold.counts):
        assigned[sentence] = solve(cost[sentence, :, : gold.counts[sentence]])
    return assigned


def by_inputs(gold: EntityRows, noisy: NoisySpans) -> Integers:
    """The entity nearest to where each noisy span lies, of equal ones the one noised into it: (B, K), or NOTHING."""
    first, last = noisy.first.numpy()[:, :, None], noisy.last.numpy()[:, :, None]
    far = np.abs(first - gold.first[:, None]) + np.abs(last - gold.last[:, None]).astype(np.float64)  # (B, K, G)
    number = np.arange(gold.first.shape[1])
    far = np.where(number < gold.counts[:, None, None], far - 0.5 * (noisy.source[:, :, None] == number), np.inf)
    return np.where(gold.counts[:, None] > 0, far.argmin(2), NOTHING)


def costs(answers: Answers, first: Tensor, last: Tensor, label: Tensor) -> Tensor:
    """Less the probabilities that a span gives to an entity's first word, last word and label, all (B, G): (B, K, G)."""

    def given(logits: Tensor, places: Tensor, probability: Tensor) -> Tensor:
        return probability.gather(2, places[:, None].expand(-1, logits.shape[1], -1))

    left = given(answers.left, first, answers.left.sigmoid())
    right = given(answers.right, last, answers.right.sigmoid())
    return -(left + right + given(answers.types, label + 1, torch.softmax(answers.types, -1)))
