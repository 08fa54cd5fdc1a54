"""Decoder sequences, a different number for each sentence, and the padded grid with the same number for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional


class Placed(Protocol):
    """Sequences and the sentences that they belong to."""

    @property
    def sentence(self) -> Tensor: ...  # (N,)

    def to_grid(self, states: Tensor) -> Tensor:
        """(N, T, w) -> (B, most * T, w): each sequence at its place, zeros where there is none."""

    def from_grid(self, grid: Tensor, steps: int) -> Tensor:
        """(B, most * T, w) -> (N, T, w)"""


@dataclass(frozen=True, slots=True)
class SequencesInGraph:
    """Sequences in an exported graph, where sizes are known only at run time."""

    sentence: Tensor  # (N,)
    place: Tensor  # (N,) in the grid, flat
    grid: Tensor  # (B, most) index of the sequence there, N: none

    def to_grid(self, states: Tensor) -> Tensor:
        padded = functional.pad(states, (0, 0, 0, 0, 0, 1))  # (N + 1, T, w)
        return padded.index_select(0, self.grid.flatten()).reshape(self.grid.shape[0], -1, states.shape[2])

    def from_grid(self, grid: Tensor, steps: int) -> Tensor:
        return grid.reshape(-1, steps, grid.shape[-1]).index_select(0, self.place)


@dataclass(frozen=True, slots=True)
class Sequences:
    """The sentence of each of N sequences, and its place in a grid of sentences x the most sequences of any sentence."""

    sentence: Tensor  # (N,)
    place: Tensor  # (N,) sentence * most + number of the sequence in its sentence; no two alike
    sentences: int
    most: int
    filled: bool = False  # whether the sequences are the whole grid, in its order

    @classmethod
    def of(cls, sentence: NDArray[np.int64], sentences: int, device: torch.device) -> Sequences:
        """From the sentence of each sequence (N,), in any order, on the host; the copy to the device is asynchronous."""
        counts, order = np.bincount(sentence, minlength=sentences), np.argsort(sentence, kind="stable")
        most, place = int(counts.max(initial=0)), np.empty_like(sentence)
        place[order] = sentence[order] * most + np.arange(len(sentence)) - np.repeat(np.cumsum(counts) - counts, counts)
        both = torch.from_numpy(np.stack([sentence, place]))
        on_device, places = (both.pin_memory() if device.type == "cuda" else both).to(device, non_blocking=True)
        return cls(on_device, places, sentences, most, filled=np.array_equal(place, np.arange(sentences * most)))

    @classmethod
    def of_mask(cls, mask: Tensor) -> tuple[Sequences, Tensor]:
        """One sequence for each True in a mask (B, N), and its column (N',). The host waits for their number."""
        sentence, column = mask.nonzero().unbind(1)  # (N',) each
        return cls(sentence, sentence, len(mask), 1).packed(), column

    def __len__(self) -> int:
        return len(self.sentence)

    def __getitem__(self, chosen: Tensor) -> Sequences:
        """Some of the sequences, each at most once; the grid stays as it is."""
        return Sequences(self.sentence[chosen], self.place[chosen], self.sentences, self.most)

    def packed(self) -> Sequences:
        """The same sequences, which must be sorted by sentence, in the smallest grid that holds them."""
        number = torch.arange(len(self), device=self.place.device) - torch.searchsorted(self.sentence, self.sentence)  # (N,)
        most = int(number.max()) + 1 if len(self) else 0  # the host waits
        return Sequences(self.sentence, self.sentence * most + number, self.sentences, most)

    def repeated(self, times: int) -> Sequences:
        """Each sequence `times` times, side by side."""
        copies = torch.arange(times, device=self.place.device)
        place = (self.place[:, None] * times + copies).flatten()  # (N * times,)
        sentence = self.sentence[:, None].expand(-1, times).flatten()
        return Sequences(sentence, place, self.sentences, self.most * times, self.filled)

    def to_grid(self, states: Tensor) -> Tensor:
        """(N, T, w) -> (B, most * T, w): each sequence at its place, zeros where there is none."""
        _, steps, width = states.shape
        if not self.filled:
            grid = states.new_zeros(self.sentences * self.most, steps, width)
            states = grid.index_copy_(0, self.place, states)
        return states.reshape(self.sentences, self.most * steps, width)

    def from_grid(self, grid: Tensor, steps: int) -> Tensor:
        """(B, most * T, w) -> (N, T, w)"""
        states = grid.reshape(self.sentences * self.most, steps, grid.shape[-1])
        return states if self.filled else states.index_select(0, self.place)
