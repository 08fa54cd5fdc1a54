"""From units at positions to words behind one another: what blocks say, as the search and the sum over all rows want it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from anyner.architectures.nag_ner.spaces import END, MORE, Said
from anyner.architectures.nag_ner.targets import UnitsOfWords
from anyner.architectures.nag_ner.writer import Blocks
from anyner.encoding.encoder import States

IMPOSSIBLE = -5e3
"""Log probabilities below this belong to what cannot be written."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Log scores, -inf for what cannot be."""

    placed: Tensor  # (Q, R, L) of placing each word of a window behind so many units
    sizes: Tensor  # (Q, R) units of each word
    end: Tensor  # (Q, L + 1) of ending behind so many
    more: Tensor  # (Q, L + 1) of going on behind so many: only behind all that fit
    links: Tensor | None  # (Q, R, R) added for a gap between two words; None: nothing is
    largest: int
    """Most units of a word."""

    def units_of(self, words: Tensor, count: Tensor) -> Tensor:
        """Units of entities of so many words (Q, K, W): (Q, K)."""
        there = torch.arange(words.shape[2], device=words.device) < count[..., None]  # (Q, K, W)
        own = self.sizes[:, None].expand(-1, words.shape[1], -1).gather(2, words.clamp(0, self.sizes.shape[1] - 1))
        return torch.where(there, own, 0).sum(2)


def laid_out(
    said: Said, blocks: Blocks, states: States, units: UnitsOfWords, *, farthest: int | None, links: Tensor | None
) -> Layout:
    """`links` (B, M, M) are those of the sentences."""
    longest, words = said.units.shape[1] - 1, states.words.shape[1]
    window = min(farthest or words, words)
    sentence = blocks.rows.sentence
    index = blocks.word[:, None] + torch.arange(window, device=sentence.device)  # (Q, R)
    real = index < states.word_mask.sum(1)[sentence][:, None]
    index = index.clamp(max=words - 1)
    first, size = (states.placed(part)[sentence[:, None], index] for part in (units.first, units.size))
    symbols = said.units[:, :longest]  # (Q, L, U)
    placed = torch.zeros(len(index), window, longest, device=index.device)
    largest = int(units.size.max())
    for number in range(largest):
        unit = (first + number).clamp(max=symbols.shape[2] - 1)  # (Q, R)
        own = symbols.gather(2, unit[:, None].expand(-1, longest, -1)).transpose(1, 2)  # (Q, R, L)
        shifted = functional.pad(own[..., number:], (0, min(number, longest)), value=-torch.inf)[..., :longest]
        placed = placed + torch.where((number < size)[..., None], shifted, 0.0)
    placed = placed.masked_fill(~real[..., None] | (placed < IMPOSSIBLE), -torch.inf)
    only_last = torch.arange(longest + 1, device=index.device) == longest
    more = said.special[..., MORE].masked_fill(~only_last, -torch.inf)
    own_links = links[sentence[:, None, None], index[:, :, None], index[:, None]] if links is not None else None
    return Layout(placed, size, said.special[..., END], more, own_links, largest)


def only_best(said: Said) -> Said:
    """All that is not its position's best is out: what the paper's greedy decoding looks up in the sentence."""
    units, special = (part.masked_fill(part < said.top[..., None], -torch.inf) for part in (said.units, said.special))
    return Said(units, special, said.top)
