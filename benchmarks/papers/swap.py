"""The swap test: does the denoiser read its spans? Gold is noised into them, then swapped for other gold with the same noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from anyner.architectures.diffusion_ner.head import Head
from anyner.architectures.diffusion_ner.spans import to_spans, to_states
from anyner.architectures.draw import Draw
from anyner.encoding.encoder import States
from anyner.layers.contiguous import EntityRows


@dataclass(frozen=True, slots=True)
class Swapped:
    """Counts of spans whose entity was swapped; they add up over batches."""

    spans: int = 0
    followed: int = 0
    """Predictions of the new entity."""
    stayed: int = 0
    """Predictions of the original entity."""
    unchanged: int = 0
    """Predictions that are the same with either."""

    def __add__(self, other: Swapped) -> Swapped:
        return Swapped(*(getattr(self, name) + getattr(other, name) for name in Swapped.__slots__))


@torch.no_grad()
def swap(head: Head, states: States, gold: EntityRows, step: int, draw: Draw) -> Swapped:
    """Noises gold by `step` steps into the head's spans, predicts, swaps each for the sentence's next entity, predicts again."""
    count = head.settings.spans
    several = torch.from_numpy(gold.counts > 1)  # (B,) with one entity there is nothing to swap
    counts = np.maximum(gold.counts, 1)[:, None]
    here = np.arange(count) % counts  # (B, K)
    words = torch.tensor(states.lengths)[:, None]
    noise = torch.from_numpy(draw.normal("swap", states.content_keys, 2 * count).reshape(-1, count, 2))
    signal, spread = head.alpha_bar[step] ** 0.5, (1 - head.alpha_bar[step]) ** 0.5
    sentence, times = head.denoiser.read(states), head.denoiser.time(states.placed(np.array([step])))  # times (1, w)
    predicted, gold_spans = [], []
    for entity in (here, (here + 1) % counts):
        first, last = (torch.from_numpy(np.take_along_axis(row, entity, 1)) for row in (gold.first, gold.last))
        noisy = to_spans(signal * to_states(first, last, words) + spread * noise, words)
        placed = (states.placed(place.numpy()) for place in noisy)
        prediction = head.denoiser.pointed(sentence, *placed, times)
        predicted.append(torch.stack([prediction.left.argmax(2), prediction.right.argmax(2)], dim=-1).cpu())  # (B, K, 2)
        gold_spans.append(torch.stack([first, last], dim=-1))

    def alike(one: torch.Tensor, other: torch.Tensor) -> int:
        return int(((one == other).all(-1) & several[:, None]).sum())

    return Swapped(
        spans=int(several.sum()) * count,
        followed=alike(predicted[1], gold_spans[1]),
        stayed=alike(predicted[1], gold_spans[0]),
        unchanged=alike(predicted[0], predicted[1]),
    )
