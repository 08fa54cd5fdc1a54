"""Does the denoiser read the spans it is given? Gold is noised into them, then swapped for other gold with the same noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from anyner.architectures.diffusion_ner.head import Head
from anyner.architectures.diffusion_ner.state import clean_state, spans_at
from anyner.architectures.draw import Draw
from anyner.encoding.encoder import States
from anyner.layers.contiguous import EntityRows


@dataclass(frozen=True, slots=True)
class Swapped:
    """What became of spans whose entity was swapped; counts add up over batches."""

    spans: int = 0
    followed: int = 0
    """Answers that are the entity put in, in its stead."""
    stayed: int = 0
    """Answers that are the entity that was there before."""
    unchanged: int = 0
    """Answers that are the same with either."""

    def __add__(self, other: Swapped) -> Swapped:
        return Swapped(*(getattr(self, name) + getattr(other, name) for name in Swapped.__slots__))


@torch.no_grad()
def swap(head: Head, states: States, gold: EntityRows, step: int, draw: Draw) -> Swapped:
    """Noises gold by `step` steps into the head's spans, asks, swaps each for the sentence's next entity, and asks again."""
    config = head.settings
    several = torch.from_numpy(gold.counts > 1)  # (B,) with one entity there is nothing to swap
    counts = np.maximum(gold.counts, 1)[:, None]
    here = np.arange(config.spans) % counts  # (B, K)
    words = torch.tensor(states.lengths)[:, None]
    noise = torch.from_numpy(draw.normal("swap", states.content_keys, 2 * config.spans).reshape(-1, config.spans, 2))
    signal, spread = (float(factor[0]) for factor in head.schedule.signal_and_noise(np.array([step])))
    sentence = head.denoiser.read(states)
    answers, wanted = [], []
    for entity in (here, (here + 1) % counts):
        first, last = (torch.from_numpy(np.take_along_axis(row, entity, 1)) for row in (gold.first, gold.last))
        state = signal * clean_state(first, last, words, config.state, config.scale) + spread * noise
        spans = spans_at(state, words, config.state, config.scale)
        steps = torch.full((len(words),), step)
        answer = head.denoiser(sentence, *(states.placed(place.numpy()) for place in (*spans, steps)))
        answers.append(torch.stack([answer.left.argmax(2), answer.right.argmax(2)], dim=-1).cpu())  # (B, K, 2)
        wanted.append(torch.stack([first, last], dim=-1))

    def alike(one: torch.Tensor, other: torch.Tensor) -> int:
        return int(((one == other).all(-1) & several[:, None]).sum())

    return Swapped(
        spans=int(several.sum()) * config.spans,
        followed=alike(answers[1], wanted[1]),
        stayed=alike(answers[1], wanted[0]),
        unchanged=alike(answers[0], answers[1]),
    )
