"""The network: it detects head words, and continues sequences by pointing at the next unit or label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures.set_gner.config import ILLEGAL, Config
from anyner.encoding.encoder import Encoder, States
from anyner.layers.decoder import Decoder, Memory, Norm, Past, sinusoidal_embeddings
from anyner.layers.decoder_weights import chosen_shape, input_scale, load_decoder, position_rows
from anyner.layers.sequences import Placed
from anyner.layers.spanpool import at_words
from anyner.layers.units import Units
from anyner.text.windows import PieceCutter

DETECTOR_DROPOUT = 0.2


class Positions(nn.Module):
    """Head word and step as one position, so that the sequences of a sentence differ (equation 13). A learned table."""

    def __init__(self, config: Config, width: int, rows: int | None) -> None:
        """`rows`: those of a pretrained table, which has no more; None: as many as needed."""
        super().__init__()
        assert config.most_units is not None and config.longest is not None, "the settings were not fitted to a corpus"
        steps = config.longest + (0 if config.constrained else 1)  # the label is an element, too, if an end symbol follows
        self.interval = config.interval
        if rows is not None:  # from what windows can hold and never from a batch: the same text must have the same positions
            self.interval = min(config.interval, max(1, (rows - steps) // config.most_units))
        self.word_interval = max(1, self.interval)
        self.table = nn.Parameter(sinusoidal_embeddings(rows or config.most_units * self.word_interval + steps, width))

    def of_sequences(self, first: Tensor, step: Tensor) -> Tensor:
        """Position embeddings of elements `step` (T,) of sequences that start at unit `first` (N,): (N, T, w)."""
        return self._at(first[:, None] * self.interval + step)

    def of_units(self, units: int) -> Tensor:
        """Position embeddings of a sentence's units: (U, w)."""
        return self._at(torch.arange(units, device=self.table.device) * self.word_interval)

    def _at(self, place: Tensor) -> Tensor:
        return functional.embedding(place.clamp(max=len(self.table) - 1), self.table)


@dataclass(frozen=True, slots=True)
class Sentences:
    """What all sequences and steps of a sentence share."""

    inputs: Tensor  # (B, U, w) decoder inputs: units, after the symbols unless constrained
    keys: Tensor  # (B, U, w) of the units to point at
    symbol_keys: Tensor  # (symbols, w)
    lengths: Tensor  # (B,)
    memory: Memory
    unknown: Tensor | None  # (B, labels) True: not annotated there


class Network(nn.Module):
    """A mention detector (equations 4 to 9), and a decoder that continues sequences with a unit or a label (section 3.3).

    The detector's two classifiers have hidden layers of their own, as in the authors' code; the paper's text has one for both.
    """

    def __init__(self, config: Config, labels: int, encoder: Encoder) -> None:
        super().__init__()
        assert config.decoder is not None and config.most_at_one_word is not None, "the settings were not fitted to a corpus"
        self.settings, self.labels, self.first_unit = config, labels, config.symbols(labels)
        pretrained, pieces, embedded = encoder.pretrained.config, encoder.piece_width, encoder.tables.tokens.embedding_dim
        unit_width = encoder.width if config.unit == "words" else pieces
        self.parts = _classifier(unit_width, 3) if config.parts else None
        self.occurrences = _classifier(unit_width, config.most_at_one_word + 1) if config.occurrences else None
        width = config.width or unit_width
        read = width if config.reads == "words" else pieces
        shape = chosen_shape(config.decoder, pretrained, width, config.layers, config.dropout, reads=read, norm=False)
        self.width, self.native = shape.width, config.decoder == "pretrained"
        self.scale = input_scale(pretrained) if self.native else 1.0
        self.of_vectors, self.of_embedded = (
            nn.Identity() if own == shape.width else nn.Linear(own, shape.width) for own in (unit_width, embedded)
        )
        # a new decoder needs both halves of a word at one scale; a pretrained one expects its own encoder's
        self.vector_norm, self.embedded_norm = (nn.Identity() if self.native else Norm(shape.width) for _ in range(2))
        table = getattr(pretrained, "max_position_embeddings", None) if self.native else None
        self.positions = Positions(config, shape.width, table)
        self.symbols = nn.Parameter(nn.init.normal_(torch.empty(self.first_unit, shape.width), std=0.02 if self.native else 1.0))
        self.decoder = Decoder(shape)
        self.query, self.key = (nn.Identity() if self.native else nn.Linear(shape.width, shape.width) for _ in range(2))
        self.symbol_bias = nn.Parameter(torch.zeros(self.first_unit))
        distances = 0 if config.contiguous else config.distances
        self.distances = nn.Parameter(torch.zeros(distances, shape.width)) if distances else None
        self.sharpness = 1.0 if self.native else shape.width**-0.5
        self.dropout = nn.Dropout(config.dropout)

    def detect(self, vectors: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Logits of starting, ending and belonging (B, U, 3), and of 0, 1 … entities that start there (B, U, O + 1), float32."""
        parts = self.parts(vectors).float() if self.parts is not None else None
        return parts, self.occurrences(vectors).float() if self.occurrences is not None else None

    def read(self, units: Units, states: States, unknown: Tensor | None = None) -> Sentences:
        words = self.vector_norm(self.of_vectors(units.vectors))  # (B, U, w)
        words = (words + self.embedded_norm(self.of_embedded(units.embedded)).to(words.dtype)) / 2
        if self.settings.reads == "words":
            words = words + self.positions.of_units(words.shape[1]).to(words.dtype)
            memory = self.decoder.project_memory(words, units.mask if len(set(units.lengths)) > 1 else None)
        else:
            memory = self.decoder.project_memory(states.pieces, states.piece_mask)
        inputs = words
        if not self.settings.constrained:
            inputs = torch.cat([self.symbols.to(words.dtype).expand(len(words), -1, -1), words], dim=1)
        keys, symbol_keys = (self.key(self.dropout(one)) for one in (words, self.symbols))
        return Sentences(inputs * self.scale, keys, symbol_keys, units.mask.sum(1), memory, unknown)

    def forward(self, sentences: Sentences, at: Placed, elements: Tensor, first: Tensor, past: Past | None = None) -> Tensor:
        """All elements (N, T) of sequences that start at `first` (N,), or with a `past` only the next one: (N, T, w)."""
        place = elements if self.settings.constrained else elements + self.first_unit
        embedded = at_words(sentences.inputs, at.sentence[:, None], place)  # (N, T, w)
        step = torch.arange(elements.shape[1], device=elements.device) + (past[0] if past is not None else 0)
        inputs = embedded + self.positions.of_sequences(first, step).to(embedded.dtype)
        return self.decoder(inputs, at, sentences.memory, past=past)  # type: ignore[no-any-return]

    def log_probabilities(self, sentences: Sentences, at: Placed, states: Tensor, first: Tensor, last: Tensor) -> Tensor:
        """Log probabilities of every symbol and unit after each element `last` (N, T) of sequences that start at `first` (N,).

        (N, T, symbols + units), float32.
        """
        query = self.query(self.dropout(states)) * self.sharpness  # (N, T, w)
        symbols = query @ sentences.symbol_keys.T + self.symbol_bias.to(query.dtype)  # (N, T, symbols)
        units = at.from_grid(at.to_grid(query) @ sentences.keys.transpose(1, 2), last.shape[1])  # (N, T, U)
        if self.distances is not None:
            away = torch.arange(units.shape[-1], device=last.device) - last[..., None] - 1  # (N, T, U)
            units = units + (query @ self.distances.T.to(query.dtype)).gather(2, away.clamp(0, len(self.distances) - 1))
        allowed = self.legal(first[:, None], last, sentences.lengths[at.sentence][:, None], units.shape[-1])
        if sentences.unknown is not None:
            allowed[..., : self.labels] &= ~sentences.unknown[at.sentence][:, None]
        return torch.cat([symbols, units], dim=-1).float().masked_fill(~allowed, ILLEGAL).log_softmax(-1)

    def legal(self, first: Tensor, last: Tensor, lengths: Tensor, units: int) -> Tensor:
        """What may follow sequences that start at unit `first` and end with `last` so far (N, T): (N, T, symbols + units) bool.

        Anything if sequences are not constrained. Else a later unit, a label, or "no entity" and "fragment" at the start.
        `lengths` are the numbers of units of the sequences' sentences.
        """
        first, last, lengths = (one.expand_as(last)[..., None] for one in (first, last, lengths))
        unit = torch.arange(units, device=last.device)
        symbols, allowed = torch.ones_like(last.expand(-1, -1, self.first_unit), dtype=torch.bool), unit < lengths
        if self.settings.constrained:
            assert self.settings.farthest is not None, "the settings were not fitted to a corpus"
            symbols[..., self.labels :] = first == last
            later = unit == last + 1 if self.settings.contiguous else unit > last
            allowed = allowed & later & (unit - first < self.settings.farthest)
        return torch.cat([symbols, allowed], dim=-1)

    @torch.no_grad()
    def start(self, labels: Sequence[str], encoder: Encoder, cut: PieceCutter) -> None:
        """Initialises symbols from label names, and the decoder from pretrained layers if the settings say so."""
        assert self.settings.decoder is not None
        self._start_symbols(labels, encoder, cut)
        checkpoint = load_decoder(self.decoder, self.settings.decoder, encoder)
        if checkpoint is not None:
            table, rows = self.positions.table, position_rows(checkpoint)
            # T5 has relative positions: the embeddings added to them start at zero
            table.copy_(rows[: len(table)] if rows is not None else torch.zeros_like(table))

    def _start_symbols(self, labels: Sequence[str], encoder: Encoder, cut: PieceCutter) -> None:
        """Initialises each symbol with the mean embedding of its name's pieces, if embeddings have the decoder's width.

        A new decoder works with vectors of standard deviation 1, so the mean is standardised for it.
        """
        tokens = encoder.tables.tokens.weight  # (V, e)
        if tokens.shape[1] != self.width:
            return
        names = [label.replace("_", " ").replace("-", " ").lower() for label in labels]
        for number, name in enumerate([*names, "null", "fragment", "end"][: len(self.symbols)]):
            pieces = [piece for own in cut(name.split() or [name]) for piece in own]
            if pieces:
                mean = tokens[torch.tensor(pieces, device=tokens.device)].mean(0)
                self.symbols[number] = mean if self.native else (mean - mean.mean()) / mean.std().clamp(min=1e-6)


def _classifier(width: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(DETECTOR_DROPOUT), nn.Linear(width, outputs))
