"""Gold spans, expanded and noised for training. On the host, from drawn numbers: small, and nothing waits for the device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anyner.architectures.diffusion_ner.config import Config
from anyner.architectures.diffusion_ner.schedule import Schedule
from anyner.architectures.diffusion_ner.state import clean_state, spans_at
from anyner.architectures.draw import Draw
from anyner.encoding.encoder import States
from anyner.layers.contiguous import EntityRows

Integers = NDArray[np.int64]
NO_SOURCE = -1
_CENTRE, _SPREAD = 0.5, 1 / 6
"""Where random spans lie: both shares of the sentence are normal, three spreads from either end (DiffusionDet's choice)."""


@dataclass(frozen=True, slots=True)
class NoisySpans:
    """K noisy spans of each sentence."""

    first: Tensor  # (B, K)
    last: Tensor  # (B, K)
    step: Integers  # (B,) how often noise was added, less one; all spans of a sentence alike
    source: Integers  # (B, K) the entity that was noised into a span, in its row; NO_SOURCE: none


def noised(gold: EntityRows, states: States, config: Config, schedule: Schedule, draw: Draw) -> NoisySpans:
    """Equation 4 for every sentence, at a step drawn for it."""
    count, keys = config.spans, states.content_keys
    lengths = torch.tensor(states.lengths)[:, None]  # (B, 1)
    source = expanded(gold, draw.uniform("expansion", keys, 1)[:, 0], config)  # (B, K)
    place = np.maximum(source, 0)
    first, last = (np.take_along_axis(row, place, 1) for row in (gold.first, gold.last))  # (B, K) each
    if config.expansion == "moved":
        moved = (
            np.arange(count) // np.maximum(gold.counts, 1)[:, None] % 2 == 1
        )  # (B, K) every second time that the gold is repeated
        moved &= source != NO_SOURCE
        room = lengths.numpy() - (last - first)  # (B, K) words at which a span of that length can begin
        there = np.floor(draw.uniform("elsewhere", keys, count) * room).astype(np.int64)
        first, last = np.where(moved, there, first), np.where(moved, there + last - first, last)
    state = clean_state(torch.from_numpy(first), torch.from_numpy(last), lengths, config.state, config.scale)  # (B, K, 2)
    if (source == NO_SOURCE).any():
        anywhere = draw.normal("anywhere", keys, 2 * count).reshape(-1, count, 2) * _SPREAD + _CENTRE
        spread_out = torch.from_numpy(2 * anywhere - 1) * config.scale
        state = torch.where(torch.from_numpy(source == NO_SOURCE)[..., None], spread_out, state)
    if config.expansion == "moved":
        source = np.where(moved, NO_SOURCE, source)
    step = (draw.uniform("step", keys, 1)[:, 0] * len(schedule)).astype(np.int64)
    signal, noise = (torch.from_numpy(factor.astype(np.float32))[:, None, None] for factor in schedule.signal_and_noise(step))
    drawn = torch.from_numpy(draw.normal("noise", keys, 2 * count).reshape(-1, count, 2))
    return NoisySpans(*spans_at(signal * state + noise * drawn, lengths, config.state, config.scale), step, source)


def expanded(gold: EntityRows, turn: NDArray[np.float32], config: Config) -> Integers:
    """The entity that goes into each of the K spans: (B, K). Of more than K entities K neighbours, others in each epoch."""
    number = np.arange(config.spans)
    counts = np.maximum(gold.counts, 1)[:, None]  # (B, 1)
    begin = np.floor(turn[:, None] * counts).astype(np.int64)  # (B, 1) where the round begins, drawn anew each epoch
    source = (number + begin) % counts
    filled = gold.counts[:, None] > (number if config.expansion == "random" else 0)
    return np.where(filled, source, NO_SOURCE)
