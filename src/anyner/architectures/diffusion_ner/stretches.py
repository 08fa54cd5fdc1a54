"""Long windows are denoised in stretches: the paper's K spans, and what their noise covers, are meant for one sentence.

Neighbouring stretches overlap by half. An entity belongs to the stretch in whose own part its middle lies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anyner.encoding.encoder import States
from anyner.encoding.pooling import take
from anyner.layers.contiguous import Entities

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stretches:
    """R rows of words, in the order of their windows."""

    window: Integers  # (R,)
    start: Integers  # (R,) first word, in the window
    length: Integers  # (R,) words
    own_start: Integers  # (R,) entities whose middle lies here ...
    own_stop: Integers  # (R,) ... or behind, but before here, belong to the row

    @classmethod
    def of(cls, lengths: tuple[int, ...], most: int) -> Stretches:
        """Of windows of so many words; none has more than `most`."""
        starts = [_starts(length, most) for length in lengths]
        window = np.repeat(np.arange(len(lengths)), [len(own) for own in starts])
        start = np.concatenate(starts)
        whole = np.array(lengths)[window]
        length = np.minimum(most, whole)
        # between two neighbours of a window the border lies in the middle of what they share
        borders = (start[1:] + (start + length)[:-1]) // 2
        same = window[1:] == window[:-1]
        own_start = np.concatenate([[0], np.where(same, borders, 0)])
        own_stop = np.concatenate([np.where(same, borders, whole[:-1]), whole[-1:]])
        return cls(window, start, length, own_start, own_stop)

    def states(self, states: States) -> States:
        """The words of each row; pieces stay those of whole windows, for nothing here reads them."""
        if len(self.window) == len(states.lengths):
            return states
        rows = zip(self.window.tolist(), self.start.tolist(), (self.start + self.length).tolist(), strict=True)
        parts = tuple(states.windows[window].part(start, stop) for window, start, stop in rows)
        inside = np.arange(self.length.max()) < self.length[:, None]  # (R, T)
        places = np.where(inside, self.start[:, None] + np.arange(self.length.max()), 0)
        places += (self.window * states.words.shape[1])[:, None]  # in one list of all windows' words
        words = take(states.words.flatten(0, 1)[None], states.placed(places.reshape(1, -1)))
        return replace(
            states,
            words=words.view(*places.shape, -1),
            word_mask=states.placed(inside),
            lengths=tuple(self.length.tolist()),
            windows=parts,
        )

    def entities(self, entities: Entities) -> Entities:
        """Those that lie wholly in a row, in its words; one in several rows is there several times."""
        counts = np.bincount(self.window)
        times = counts[entities.sentence]  # (E,) rows of each entity's window
        which = np.repeat(np.arange(len(entities)), times)
        row = np.repeat((np.cumsum(counts) - counts)[entities.sentence], times)
        row = row + np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
        first, last = entities.first[which] - self.start[row], entities.last[which] - self.start[row]
        kept = np.flatnonzero((first >= 0) & (last < self.length[row]))
        kept = kept[np.argsort(row[kept], kind="stable")]
        return Entities(row[kept], entities.label[which[kept]], first[kept], last[kept])

    def in_windows(self, states: States, place: Tensor, score: Tensor) -> tuple[Tensor, Tensor]:
        """Entities (P, 4) of rows, first and last words behind the row, as those of windows: each from the row it belongs to."""
        table = states.placed(np.stack([self.window, self.start, self.own_start, self.own_stop]))  # (4, R)
        window, start, own_start, own_stop = table[:, place[:, 0]].unbind(0)  # (P,) each
        first, last = place[:, 1] + start, place[:, 2] + start
        middle = (first + last) // 2
        own = (middle >= own_start) & (middle < own_stop)
        return torch.stack([window, first, last, place[:, 3]], dim=1)[own], score[own]


def _starts(length: int, most: int) -> Integers:
    """Where the rows of a window begin: spread evenly, neighbours sharing at least half."""
    if length <= most:
        return np.zeros(1, dtype=np.int64)
    half = most // 2
    rows = -(-(length - half) // (most - half))
    return np.linspace(0, length - most, rows).round().astype(np.int64)
