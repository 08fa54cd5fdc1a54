"""The generator: continues rows of units with a decoder that points at what comes next, a unit or a label (section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig

from anyner.architectures.set_gner.config import Config
from anyner.architectures.set_gner.legal import Rules, legal
from anyner.architectures.set_gner.positions import Positions
from anyner.architectures.set_gner.targets import SPECIAL
from anyner.encoding.encoder import States
from anyner.layers.decoder import Cache, Decoder, Memory
from anyner.layers.decoder_choice import NewDecoder, chosen_shape
from anyner.layers.decoder_weights import input_scale
from anyner.layers.norm import Norm
from anyner.layers.rows import Rows
from anyner.layers.spanpool import at_words
from anyner.layers.units import Units

HIDDEN = -1e4
"""The logit of what may not follow: finite, so that a row where nothing else is left has no NaN."""


@dataclass(frozen=True, slots=True)
class Widths:
    """Of what the encoder gives."""

    units: int
    embedded: int
    pieces: int


@dataclass(frozen=True, slots=True)
class Sentences:
    """What of the sentences is the same for all rows and steps."""

    units: Tensor  # (B, U, w) what goes into the decoder
    keys: Tensor  # (B, U, w) what it points at
    symbol_keys: Tensor  # (labels + 2, w)
    lengths: Tensor  # (B,)
    memory: Memory


class Generator(nn.Module):
    def __init__(self, config: Config, labels: int, widths: Widths, pretrained: PreTrainedConfig) -> None:
        super().__init__()
        self.settings, self.rules = config, Rules.of(config, labels)
        assert config.decoder is not None, "the settings were not fitted to a corpus"
        width = config.width or widths.units
        shape = chosen_shape(
            config.decoder,
            NewDecoder(width, config.layers, config.heads, config.feed_forward),
            pretrained,
            dropout=config.dropout,
            memory_width=width if config.reads == "words" else widths.pieces,
            piece_width=widths.pieces,
        )
        self.native = config.decoder == "pretrained"
        self.scale = input_scale(pretrained) if self.native else 1.0
        self.of_vectors = _mapped(widths.units, shape.width)
        self.of_embedded = _mapped(widths.embedded, shape.width) if config.token_embedding else None
        # a new decoder needs both halves of a word at one scale; a pretrained one knows the scale of its own encoder
        self.vector_norm = nn.Identity() if self.native else Norm(shape.width)
        self.embedded_norm = nn.Identity() if self.native or not config.token_embedding else Norm(shape.width)
        table = getattr(pretrained, "max_position_embeddings", None) if self.native else None
        self.positions = Positions(config, shape.width, table)
        self.symbols = nn.Parameter(nn.init.normal_(torch.empty(labels + SPECIAL, shape.width), std=0.02 if self.native else 1.0))
        self.decoder = Decoder(shape)
        self.asking = nn.Identity() if self.native else nn.Linear(shape.width, shape.width)
        self.pointed = nn.Identity() if self.native else nn.Linear(shape.width, shape.width)
        self.symbol_bias = nn.Parameter(torch.zeros(labels + SPECIAL))
        away = config.distances if not config.contiguous else 0
        self.distances = nn.Parameter(torch.zeros(away, shape.width)) if away else None
        self.sharpness = 1.0 if self.native else shape.width**-0.5
        self.dropout = nn.Dropout(config.dropout)

    @property
    def width(self) -> int:
        return self.decoder.shape.width

    def read(self, units: Units, states: States) -> Sentences:
        words = self.vector_norm(self.of_vectors(units.vectors))  # (B, U, w)
        if self.of_embedded is not None:
            assert units.embedded is not None
            words = (words + self.embedded_norm(self.of_embedded(units.embedded)).to(words.dtype)) / 2
        if self.settings.word_positions:
            words = words + self.positions.of_units(words.shape[1]).to(words.dtype)
        if self.settings.reads == "words":
            memory = self.decoder.remember(words, units.mask if len(set(units.lengths)) > 1 else None)
        else:
            memory = self.decoder.remember(states.pieces, states.piece_mask)
        return Sentences(
            units=words * self.scale,
            keys=self.pointed(self.dropout(words)),
            symbol_keys=self.pointed(self.dropout(self.symbols)),
            lengths=units.mask.sum(1),
            memory=memory,
        )

    def written(self, sentences: Sentences, rows: Rows, units: Tensor) -> Tensor:
        """All elements of rows of units (N, T) at once: (N, T, w)."""
        step = torch.arange(units.shape[1], device=units.device)
        inputs = self._inputs(sentences, rows, units) + self.positions.of_rows(units[:, 0], step).to(sentences.units.dtype)
        return self.decoder(inputs, rows, sentences.memory)  # type: ignore[no-any-return]

    def step(self, sentences: Sentences, rows: Rows, first: Tensor, last: Tensor, *, number: int, cache: Cache) -> Tensor:
        """The element `number` of rows that began at `first` (N,) and now end at `last` (N,): (N, w)."""
        position = self.positions.of_rows(first, torch.tensor([number], device=first.device))[:, 0]  # (N, w)
        inputs = self._inputs(sentences, rows, last[:, None])[:, 0] + position.to(sentences.units.dtype)
        return self.decoder.step(inputs, number, rows, sentences.memory, cache)

    def log_probabilities(
        self, sentences: Sentences, rows: Rows, states: Tensor, first: Tensor, last: Tensor, *, unknown: Tensor | None = None
    ) -> Tensor:
        """Of everything that may follow rows that began at `first` (N,), at each of their elements `last` (N, T), float32.

        (N, T, labels + 2 + units); in contiguous settings only the next unit may follow: (N, T, labels + 3). `unknown`
        (B, labels) are labels that were not annotated in a sentence.
        """
        lengths = sentences.lengths[rows.sentence][:, None]  # (N, 1)
        asking = self.asking(self.dropout(states)) * self.sharpness  # (N, T, w)
        symbols = asking @ sentences.symbol_keys.T + self.symbol_bias.to(asking.dtype)  # (N, T, labels + 2)
        if self.rules.contiguous:
            following = (last + 1).clamp(max=sentences.keys.shape[1] - 1)
            pointed = (asking * at_words(sentences.keys, rows.sentence[:, None], following)).sum(-1, keepdim=True)  # (N, T, 1)
            candidates = (last + 1)[..., None]  # (N, T, 1)
        else:
            pointed = rows.from_grid(rows.to_grid(asking) @ sentences.keys.transpose(1, 2), last.shape[1])  # (N, T, U)
            candidates = torch.arange(pointed.shape[-1], device=last.device)  # (U,)
            if self.distances is not None:
                away = (candidates - last[..., None] - 1).clamp(0, len(self.distances) - 1)  # (N, T, U)
                pointed = pointed + (asking @ self.distances.T.to(asking.dtype)).gather(2, away)
        allowed = legal(first[:, None], last, lengths, candidates, self.rules)
        if unknown is not None:
            allowed[..., : self.rules.labels] &= ~unknown[rows.sentence][:, None]
        return torch.cat([symbols, pointed], dim=-1).float().masked_fill(~allowed, HIDDEN).log_softmax(-1)

    def _inputs(self, sentences: Sentences, rows: Rows, units: Tensor) -> Tensor:
        return at_words(sentences.units, rows.sentence[:, None], units)


def _mapped(here: int, there: int) -> nn.Module:
    return nn.Identity() if here == there else nn.Linear(here, there)
