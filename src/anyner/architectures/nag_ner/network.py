"""The network: from blocks of mask positions, tagged with word and rank, to scores of symbols at every position."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures.nag_ner.config import FIRST_UNIT, Config
from anyner.encoding.encoder import Encoder, States
from anyner.layers.decoder import Decoder, Memory, Norm, sinusoidal_embeddings
from anyner.layers.decoder_weights import chosen_shape
from anyner.layers.sequences import Placed
from anyner.layers.spanpool import at_words
from anyner.layers.units import WordUnits, units_of

MASKED = -1e4
"""Logit of a symbol that is not available."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Q blocks: the start word of each, and the rank of the entity to generate."""

    sequences: Placed
    word: Tensor  # (Q,)
    rank: Tensor  # (Q,)

    @property
    def sentence(self) -> Tensor:
        return self.sequences.sentence  # (Q,)


@dataclass(frozen=True, slots=True)
class Sentences:
    """What all blocks of a sentence share."""

    states: States
    units: WordUnits
    words: Tensor  # (B, M, w)
    positions: Tensor  # (B, M, w) embeddings of the words' positions in their window
    memory: Memory


class WordOutput(nn.Module):
    """Log probabilities of END, MORE, and pointers to the block's word and later ones."""

    def __init__(self, width: int, positions: int, farthest: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.special = nn.Linear(width, FIRST_UNIT)
        # relative to the block's word: long texts have positions never seen in training
        self.distance = nn.Parameter(torch.zeros(positions, farthest))

    def forward(self, hidden: Tensor, blocks: Blocks, sentences: Sentences, *, greedy: bool = False) -> Tensor:
        """At each of P positions: (Q, P, 2 + M), float32; `greedy`: -inf for all but the most probable symbol there."""
        words = sentences.words
        query = self.query(hidden) * hidden.shape[-1] ** -0.5  # (Q, P, w)
        grid = blocks.sequences.to_grid(query) @ self.key(words).transpose(1, 2)  # (B, most * P, M)
        distance = torch.arange(words.shape[1], device=hidden.device) - blocks.word[:, None]  # (Q, M)
        farthest = self.distance.shape[1]
        by_distance = functional.embedding(distance.clamp(0, farthest - 1), self.distance.T).transpose(1, 2)  # (Q, P, M)
        pointers = blocks.sequences.from_grid(grid, hidden.shape[1]).float() + by_distance
        legal = sentences.states.word_mask[blocks.sentence] & (distance >= 0) & (distance < farthest)  # (Q, M)
        pointers = pointers.masked_fill(~legal[:, None], MASKED)
        symbols = torch.cat([self.special(hidden).float(), pointers], dim=-1).log_softmax(-1)  # (Q, P, 2 + M)
        return only_best(symbols, symbols) if greedy else symbols


class PieceOutput(nn.Module):
    """The same for pieces, scored with the encoder's own token embedding, which is not registered here."""

    def __init__(self, width: int, tokens: nn.Embedding, *, vocabulary: bool) -> None:
        """`vocabulary`: the softmax is over all pieces of the vocabulary (the paper), else over those of the sentence."""
        super().__init__()
        self.vocabulary, self._tokens = vocabulary, (tokens,)
        self.transform = nn.Linear(width, tokens.embedding_dim)
        self.norm = Norm(tokens.embedding_dim)
        self.special = nn.Linear(tokens.embedding_dim, FIRST_UNIT)
        # embeddings of an encoder from scratch are small: without this, pieces stay improbable for a long time
        largest_logit = tokens.weight.detach().norm(dim=1).mean() * tokens.embedding_dim**0.5
        nn.init.constant_(self.norm.weight, max(1.0, 10.0 / float(largest_logit)))

    def forward(self, hidden: Tensor, blocks: Blocks, sentences: Sentences, *, greedy: bool = False) -> Tensor:
        units = units_of(sentences.states, "pieces", self._tokens[0])
        assert units.ids is not None
        query = self.norm(functional.gelu(self.transform(hidden)))  # (Q, P, e)
        real = units.mask[blocks.sentence][:, None]  # (Q, 1, U)
        if self.vocabulary:
            column, logits = units.ids, (query @ self._tokens[0].weight.T.to(query.dtype)).float()  # (B, U) and (Q, P, V)
        else:
            grid = blocks.sequences.to_grid(query) @ units.embedded.to(query.dtype).transpose(1, 2)
            # a piece that occurs several times is one symbol: only its first occurrence is in the sum
            column = (units.ids[:, :, None] == units.ids[:, None]).to(torch.uint8).argmax(2)  # (B, U)
            first = column == torch.arange(column.shape[1], device=column.device)
            logits = blocks.sequences.from_grid(grid, hidden.shape[1]).float()  # (Q, P, U)
            logits = logits.masked_fill(~(first[blocks.sentence][:, None] & real), MASKED)
        every = torch.cat([self.special(query).float(), logits], dim=-1).log_softmax(-1)
        index = (column + FIRST_UNIT)[blocks.sentence][:, None].expand(-1, hidden.shape[1], -1)  # (Q, P, U)
        own = every.gather(2, index).masked_fill(~real, MASKED)
        symbols = torch.cat([every[..., :FIRST_UNIT], own], dim=-1)  # (Q, P, 2 + U)
        return only_best(symbols, every) if greedy else symbols


def only_best(symbols: Tensor, every: Tensor) -> Tensor:
    """Greedy decoding of the paper: -inf for all symbols of the sentence but the best of `every` symbol at each position."""
    return symbols.masked_fill(symbols < every.amax(-1, keepdim=True), -torch.inf)


class Network(nn.Module):
    gap_cost: Tensor | None  # (L,) cost of a gap after 0, 1 … units; None: all entities are contiguous
    start_positions: Tensor  # (most units, w) only where the encoder has no position table

    def __init__(self, config: Config, labels: int, encoder: Encoder) -> None:
        super().__init__()
        assert config.decoder is not None and config.longest is not None and config.most_at_one_word is not None
        assert config.most_units is not None and config.farthest is not None, "the settings were not fitted to a corpus"
        self.settings, with_words, size = config, config.block_inputs == "words", config.width or encoder.width
        self.reads_pieces = config.decoder != "new" or not with_words
        pretrained, read = encoder.pretrained.config, size if with_words else encoder.piece_width
        shape = chosen_shape(config.decoder, pretrained, size, config.layers, config.dropout, reads=read, norm=True)
        self.decoder, width, tables = Decoder(shape), shape.width, encoder.tables
        # pretrained position embeddings are small: what the paper adds must not dominate them
        scale = 1.0 if with_words else 0.02
        self.mask = nn.Parameter(nn.init.normal_(torch.empty(width), std=0.02))
        self.positions = nn.Parameter(scale * sinusoidal_embeddings(config.longest + 2, width))
        self.ranks = nn.Parameter(nn.init.normal_(torch.empty(config.most_at_one_word, width), std=scale))  # NEPE
        self._table, self._offset = (tables.positions,), tables.position_offset  # WSPE; a tuple: not registered
        own_positions = nn.Parameter(scale * sinusoidal_embeddings(config.most_units, width))
        self.register_parameter("start_positions", own_positions if tables.positions is None else None)
        start_width = tables.positions.embedding_dim if tables.positions is not None else width
        self.start_norm = Norm(start_width) if with_words else nn.Identity()
        direct = not with_words and start_width == width
        self.start_projection = nn.Identity() if direct else nn.Linear(start_width, width)
        self.word_width = encoder.width
        self.word_projection = nn.Sequential(nn.Linear(encoder.width, width), Norm(width))
        self.word_positions = nn.Parameter(sinusoidal_embeddings(config.most_units, width))
        self.head_word = nn.Linear(encoder.width, width) if with_words else None
        self.next_words = nn.Linear(width, width) if with_words and config.space == "pointer" else None
        self.types = nn.Linear(width, labels + 1)  # 0: no entity
        self.output: WordOutput | PieceOutput = WordOutput(width, config.longest + 1, config.farthest)
        if config.space != "pointer":
            self.output = PieceOutput(width, tables.tokens, vocabulary=config.space == "vocab")
        self.last_word = WordOutput(width, 1, config.farthest) if config.tail else None
        gap_cost = None if config.contiguous else torch.zeros(config.longest)
        if gap_cost is not None and config.loss == "sequences" and config.longest > 1:
            self.gap_cost = nn.Parameter(gap_cost)
        else:
            self.register_buffer("gap_cost", gap_cost, persistent=False)

    def read(self, states: States, shift: Tensor | int = 0) -> Sentences:
        """`shift` (B, 1) offsets positions in training, so that positions of long texts are trained."""
        words, positions, memory = self.read_words(states, shift)
        return Sentences(states, WordUnits.of(states.windows, self.settings.unit_kind), words, positions, memory)

    def positions_of(self, words: Tensor, shift: Tensor | int = 0) -> Tensor:
        """Position embeddings of words (B, M, …) in their windows: (B, M, w)."""
        place = shift + torch.arange(words.shape[1], device=words.device).expand(words.shape[:2])  # (B, M)
        return functional.embedding(place.clamp(max=len(self.word_positions) - 1), self.word_positions)

    def read_words(self, states: States, shift: Tensor | int = 0) -> tuple[Tensor, Tensor, Memory]:
        """The words and their position embeddings (B, M, w) each, and the decoder's memory of the sentences."""
        words, positions = self.word_projection(states.words), self.positions_of(states.words, shift)
        words = words + positions.to(words.dtype)
        if self.reads_pieces:
            memory = self.decoder.project_memory(states.pieces, states.piece_mask)
        else:
            memory = self.decoder.project_memory(words, states.word_mask if len(set(states.lengths)) > 1 else None)
        return words, positions, memory

    def forward(self, sentences: Sentences, blocks: Blocks) -> Tensor:
        """Hidden states of all positions of all blocks, in one pass (equation 4): (Q, longest + 2, w)."""
        inputs = (self.mask + self.positions).to(sentences.states.words.dtype).expand(blocks.word.shape[0], -1, -1)  # (Q, T, w)
        if self.settings.block_inputs != "none":
            inputs = inputs + self._tags(sentences, blocks)[:, None]
        if self.next_words is not None:
            inputs = inputs + self._next_words(sentences, blocks)
        hidden: Tensor = self.decoder(inputs, blocks.sequences, sentences.memory, causal=self.settings.loss == "positions")
        return hidden

    def _tags(self, sentences: Sentences, blocks: Blocks) -> Tensor:
        """Embeddings that distinguish blocks: (Q, w). The paper's: WSPE (the encoder's position of the first piece), NEPE."""
        sentence, word, states = blocks.sentence, blocks.word, sentences.states
        kind = states.words.dtype
        piece, table = states.first_piece[sentence, word], self._table[0]  # (Q,)
        # the weight only: BART's module would add its offset again
        start = self.start_positions[piece] if table is None else functional.embedding(piece + self._offset, table.weight)
        tag, own = self.start_projection(self.start_norm(start)).to(kind), self.ranks[blocks.rank]  # (Q, w) each
        if self.head_word is None:
            return tag + own.to(kind)  # type: ignore[no-any-return]
        own = own + sentences.positions[sentence, word]
        return tag + own.to(kind) + self.head_word(states.words[sentence, word]).to(kind)  # type: ignore[no-any-return]

    def _next_words(self, sentences: Sentences, blocks: Blocks) -> Tensor:
        """The word that a contiguous entity has at each position, zeros at the label's: (Q, T, w)."""
        assert self.next_words is not None
        words = self.next_words(sentences.words)  # (B, M, w)
        word = blocks.word[:, None] + torch.arange(len(self.positions) - 1, device=blocks.word.device)  # (Q, T - 1)
        real = word < sentences.states.word_mask.sum(1)[blocks.sentence][:, None]
        own = at_words(words, blocks.sentence[:, None], word.clamp(max=words.shape[1] - 1))  # (Q, T - 1, w)
        return functional.pad(torch.where(real[..., None], own, 0.0), (0, 0, 1, 0))
