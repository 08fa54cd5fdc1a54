"""What can stand at a position of a block: words of the sentence, or pieces of the sentence or of the whole vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.layers.norm import Norm
from anyner.layers.rows import Rows
from anyner.layers.units import Units

HIDDEN = -1e4
END, MORE = 0, 1
SPECIAL = 2


@dataclass(frozen=True, slots=True)
class Said:
    """Log probabilities at each of P positions, float32."""

    units: Tensor  # (Q, P, U) of the sentence's units
    special: Tensor  # (Q, P, 2) of the end, and of more than fits
    top: Tensor  # (Q, P) of the likeliest symbol of all


class WordsOut(nn.Module):
    """Points at words of the sentence: the block's own and those behind it, no others."""

    tokens: nn.Embedding | None = None

    def __init__(self, width: int, positions: int, farthest: int) -> None:
        super().__init__()
        self.asking, self.pointed = nn.Linear(width, width), nn.Linear(width, width)
        self.special = nn.Linear(width, SPECIAL)
        # how far behind the block's word each position's word lies, wherever in the text that is: long texts have places
        # that no training sentence has
        self.distance = nn.Parameter(torch.zeros(positions, farthest))

    def forward(self, written: Tensor, rows: Rows, word: Tensor, words: Tensor, units: Units) -> Said:
        asking = self.asking(written) * written.shape[-1] ** -0.5  # (Q, P, w)
        grid = rows.to_grid(asking) @ self.pointed(words).transpose(1, 2)  # (B, most * P, M)
        away = torch.arange(words.shape[1], device=word.device) - word[:, None]  # (Q, M)
        farthest = self.distance.shape[1]
        by_distance = functional.embedding(away.clamp(0, farthest - 1), self.distance.T).transpose(1, 2)  # (Q, P, M)
        pointed = rows.from_grid(grid, written.shape[1]).float() + by_distance
        legal = units.mask[rows.sentence] & (away >= 0) & (away < farthest)  # (Q, M)
        pointed = pointed.masked_fill(~legal[:, None], HIDDEN)
        logs = torch.cat([self.special(written).float(), pointed], dim=-1).log_softmax(-1)  # (Q, P, 2 + M)
        return Said(logs[..., SPECIAL:], logs[..., :SPECIAL], logs.amax(-1))


class PiecesOut(nn.Module):
    """Writes pieces; compared with the encoder's own embedding of them, which is not registered here."""

    def __init__(self, width: int, tokens: nn.Embedding, whole: bool) -> None:
        """`whole`: among all pieces of the vocabulary, else among those of the sentence."""
        super().__init__()
        self.whole, self._tokens = whole, (tokens,)
        self.transform = nn.Linear(width, tokens.embedding_dim)
        self.norm = Norm(tokens.embedding_dim)
        self.special = nn.Linear(tokens.embedding_dim, SPECIAL)

    @property
    def tokens(self) -> nn.Embedding:
        return self._tokens[0]

    def forward(self, written: Tensor, rows: Rows, word: Tensor, words: Tensor, units: Units) -> Said:
        assert units.embedded is not None and units.ids is not None
        asking = self.norm(functional.gelu(self.transform(written)))  # (Q, P, e)
        special = self.special(asking).float()
        ids = units.ids  # (B, U)
        if self.whole:
            logs = torch.cat([special, (asking @ self.tokens.weight.T.to(asking.dtype)).float()], dim=-1).log_softmax(-1)
            index = (ids + SPECIAL)[rows.sentence][:, None].expand(-1, written.shape[1], -1)  # (Q, P, U)
            own = logs.gather(2, index)
        else:
            embedded = units.embedded.to(asking.dtype)  # (B, U, e)
            logits = rows.from_grid(rows.to_grid(asking) @ embedded.transpose(1, 2), written.shape[1]).float()  # (Q, P, U)
            # a piece that occurs several times is one symbol: only its first occurrence is in the sum
            first = (ids[:, :, None] == ids[:, None]).to(torch.uint8).argmax(2)  # (B, U) where each piece occurs first
            counted = units.mask & (first == torch.arange(ids.shape[1], device=ids.device))
            logits = logits.masked_fill(~counted[rows.sentence][:, None], HIDDEN)
            logs = torch.cat([special, logits], dim=-1).log_softmax(-1)
            own = logs.gather(2, (first + SPECIAL)[rows.sentence][:, None].expand(-1, written.shape[1], -1))
        own = own.masked_fill(~units.mask[rows.sentence][:, None], HIDDEN)
        return Said(own, logs[..., :SPECIAL], logs.amax(-1))
