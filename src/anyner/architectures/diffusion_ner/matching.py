"""Which entity each span should become."""

from __future__ import annotations

from typing import Literal

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


def by_inputs(gold: EntityRows, noisy: NoisySpans, apart: Literal["nearest", "nothing"]) -> Integers:
    """The entity nearest to where each noisy span lies, of equal ones the one noised into it: (B, K), or NOTHING.

    `apart`: what becomes of spans that share no word with it.
    """
    first, last = noisy.first.numpy()[:, :, None], noisy.last.numpy()[:, :, None]
    far = np.abs(first - gold.first[:, None]) + np.abs(last - gold.last[:, None]).astype(np.float64)  # (B, K, G)
    number = np.arange(gold.first.shape[1])
    far = np.where(number < gold.counts[:, None, None], far - 0.5 * (noisy.source[:, :, None] == number), np.inf)
    nearest = far.argmin(2)  # (B, K)
    assigned = np.where(gold.counts[:, None] > 0, nearest, NOTHING)
    if apart == "nearest":
        return assigned
    its_first, its_last = (np.take_along_axis(row, nearest, 1) for row in (gold.first, gold.last))  # (B, K) each
    touching = np.minimum(last[..., 0], its_last) >= np.maximum(first[..., 0], its_first)
    return np.where(touching, assigned, NOTHING)


def costs(answers: Answers, first: Tensor, last: Tensor, label: Tensor) -> Tensor:
    """Less the probabilities that a span gives to an entity's first word, last word and label, all (B, G): (B, K, G)."""

    def given(logits: Tensor, places: Tensor, probability: Tensor) -> Tensor:
        return probability.gather(2, places[:, None].expand(-1, logits.shape[1], -1))

    left = given(answers.left, first, answers.left.sigmoid())
    right = given(answers.right, last, answers.right.sigmoid())
    return -(left + right + given(answers.types, label + 1, torch.softmax(answers.types, -1)))


def labels_pointed_at(answers: Answers, first: Tensor, last: Tensor, label: Tensor, counts: Tensor) -> Tensor:
    """One more than the label of the entity that a span's pointers point at, 0 where that is none: (B, K).

    `first`, `last` and `label` (B, G) are the entities, so many in each sentence (B,).
    """
    left, right = answers.left.argmax(2)[..., None], answers.right.argmax(2)[..., None]  # (B, K, 1) each
    real = torch.arange(first.shape[1], device=first.device) < counts[:, None]  # (B, G)
    hit = (left == first[:, None]) & (right == last[:, None]) & real[:, None]  # (B, K, G)
    return torch.where(hit, label[:, None] + 1, 0).amax(2)
