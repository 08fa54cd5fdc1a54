"""Segments of windows, the noisy spans of training, and the entity that each of them learns.

Noise and assignments are computed on the host: they are small, and only bipartite matching waits for the device.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from anyner.architectures.diffusion_ner.config import Config
from anyner.architectures.diffusion_ner.network import Predictions
from anyner.architectures.diffusion_ner.schedule import Doubles, Floats, Integers, to_spans, to_states
from anyner.architectures.diffusion_ner.segments import Segments
from anyner.architectures.draw import Draw
from anyner.encoding.encoder import States
from anyner.encoding.pooling import take
from anyner.layers.contiguous import Entities, EntityRows

NO_SOURCE = NOTHING = -1
_CENTRE, _SPREAD = 0.5, 1 / 6
"""Mean and standard deviation of first word and width of random spans, as shares of the sentence."""


def segment_states(segments: Segments, states: States) -> States:
    """The words of each segment; pieces stay those of whole windows, since nothing here reads them."""
    if len(segments.window) == len(states.lengths):
        return states
    inside, places = segments.places()  # (R, T) each
    places = places + (segments.window * states.words.shape[1])[:, None]
    words = take(states.words.flatten(0, 1)[None], states.placed(places.reshape(1, -1)))
    return replace(
        states,
        words=words.view(*places.shape, -1),
        word_mask=states.placed(inside),
        lengths=tuple(segments.length.tolist()),
        windows=segments.windows(states.windows),
    )


def segment_entities(segments: Segments, entities: Entities) -> Entities:
    """Entities that lie entirely in a segment, in its words. One that lies in several segments is in each of them."""
    segment, which = np.nonzero(segments.window[:, None] == entities.sentence)
    first, last = entities.first[which] - segments.start[segment], entities.last[which] - segments.start[segment]
    inside = (first >= 0) & (last < segments.length[segment])
    return Entities(segment[inside], entities.label[which[inside]], first[inside], last[inside])


def in_windows(segments: Segments, states: States, place: Tensor) -> tuple[Tensor, Tensor]:
    """`Segments.in_windows` on the device of the states."""
    table = states.placed(np.stack([segments.window, segments.start, segments.core_start, segments.core_stop]))  # (4, R)
    window, start, core_start, core_stop = table[:, place[:, 0]].unbind(0)  # (P,) each
    first, last = place[:, 2] + start, place[:, 3] + start
    middle = (first + last) // 2
    return torch.stack([window, place[:, 1], first, last], dim=1), (middle >= core_start) & (middle < core_stop)


@dataclass(frozen=True, slots=True)
class NoisySpans:
    """K noisy spans of each sentence."""

    first: Integers  # (B, K)
    last: Integers  # (B, K)
    step: Integers  # (B,) the same for all spans of a sentence
    source: Integers  # (B, K) the entity that was noised into a span; NO_SOURCE: none, or a shifted copy


def noised(gold: EntityRows, states: States, config: Config, alpha_bar: Doubles, draw: Draw) -> NoisySpans:
    """Noises every sentence at a random step (equation 4)."""
    count, keys = config.spans, states.content_keys
    lengths = np.array(states.lengths)[:, None]  # (B, 1)
    source = expanded(gold, draw.uniform("expansion", keys, 1)[:, 0], config)  # (B, K)
    first, last = (np.take_along_axis(row, np.maximum(source, 0), 1) for row in (gold.first, gold.last))  # (B, K) each
    random = (source == NO_SOURCE)[..., None]  # (B, K, 1)
    if config.expansion == "shifted":
        rounds = np.arange(count) // np.maximum(gold.counts, 1)[:, None]  # (B, K) how often the gold came before
        shifted = (rounds % 2 == 1) & (source != NO_SOURCE)
        room = lengths - (last - first)  # (B, K) words at which a span of that length can begin
        elsewhere = np.floor(draw.uniform("elsewhere", keys, count) * room).astype(np.int64)
        first, last = np.where(shifted, elsewhere, first), np.where(shifted, elsewhere + last - first, last)
        source = np.where(shifted, NO_SOURCE, source)
    anywhere, noise = (draw.normal(name, keys, 2 * count).reshape(-1, count, 2) for name in ("anywhere", "noise"))
    state = np.where(random, 2 * (anywhere * _SPREAD + _CENTRE) - 1, to_states(first, last, lengths))  # (B, K, 2)
    step = (draw.uniform("step", keys, 1)[:, 0] * len(alpha_bar)).astype(np.int64)
    kept = alpha_bar[step, None, None]  # (B, 1, 1)
    of_state, of_noise = (np.sqrt(share).astype(np.float32) for share in (kept, 1 - kept))
    return NoisySpans(*to_spans(of_state * state + of_noise * noise, lengths), step, source)


def expanded(gold: EntityRows, turn: Floats, config: Config) -> Integers:
    """The entity that fills each of the K spans: (B, K). Of more than K entities, K in a row from a random one on."""
    number = np.arange(config.spans)
    counts = np.maximum(gold.counts, 1)[:, None]  # (B, 1)
    begin = np.floor(turn[:, None] * counts).astype(np.int64)  # (B, 1) which entity comes first
    filled = gold.counts[:, None] > (number if config.expansion == "random" else 0)
    return np.where(filled, (number + begin) % counts, NO_SOURCE)


def by_inputs(gold: EntityRows, noisy: NoisySpans) -> Integers:
    """The entity nearest to each noisy span, in a tie its source; NOTHING if they share no word: (B, K)."""
    far = np.abs(noisy.first[..., None] - gold.first[:, None]) + np.abs(noisy.last[..., None] - gold.last[:, None])  # (B, K, G)
    number = np.arange(gold.first.shape[1])
    tied = np.where(noisy.source[..., None] == number, 0.5, 0.0)
    nearest = np.where(number < gold.counts[:, None, None], far - tied, np.inf).argmin(2)  # (B, K)
    its_first, its_last = (np.take_along_axis(row, nearest, 1) for row in (gold.first, gold.last))  # (B, K) each
    touching = (np.minimum(noisy.last, its_last) >= np.maximum(noisy.first, its_first)) & (gold.counts[:, None] > 0)
    return np.where(touching, nearest, NOTHING)


def on_device(gold: EntityRows, states: States) -> Tensor:
    """First word, last word and label of all entities, and 1 where there is one, 0 for padding: (4, B, G)."""
    real = np.arange(gold.first.shape[1]) < gold.counts[:, None]
    return states.placed(np.stack([gold.first, gold.last, gold.label, real.astype(np.int64)]))


def by_predictions(predictions: Predictions, gold: EntityRows, entities: Tensor, config: Config) -> Integers:
    """Bipartite matching (appendix A): the cheapest assignment of entities to spans; NOTHING for spans left over: (B, K).

    `entities` is `gold` as `on_device` gives it.
    """
    cost = costs(predictions, entities).detach().cpu().numpy()  # (B, K, G), the batch's one wait for the device
    assigned = np.full(cost.shape[:2], NOTHING, dtype=np.int64)
    for sentence in np.flatnonzero(gold.counts):
        own = gold.counts[sentence]
        # gold is repeated to all spans: a transport problem, which scipy solves fastest on copies of the columns
        entity = np.arange(max(own, cost.shape[1]) if config.matching == "predictions" else own) % own
        rows, columns = linear_sum_assignment(cost[sentence][:, entity])
        assigned[sentence, rows] = entity[columns]
    return assigned


def costs(predictions: Predictions, entities: Tensor) -> Tensor:
    """Minus the probabilities that a span gives to an entity's first word, last word and label: (B, K, G)."""
    first, last, label, _ = entities  # (B, G) each

    def given(probability: Tensor, place: Tensor) -> Tensor:
        return probability.gather(2, place[:, None].expand(-1, probability.shape[1], -1))

    left, right = given(predictions.left.sigmoid(), first), given(predictions.right.sigmoid(), last)
    return -(left + right + given(predictions.types.softmax(-1), label + 1))


def labels_pointed_at(predictions: Predictions, entities: Tensor) -> Tensor:
    """One more than the label of the entity whose boundaries a span predicts exactly, 0 if there is none: (B, K)."""
    first, last, label, real = entities[:, :, None]  # (B, 1, G) each
    left, right = predictions.left.argmax(2)[..., None], predictions.right.argmax(2)[..., None]  # (B, K, 1) each
    return torch.where((left == first) & (right == last) & (real > 0), label + 1, 0).amax(2)
