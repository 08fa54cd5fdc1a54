"""The writer: blocks of masks, each tagged with its word and its rank, are turned into what stands at every position."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures.nag_ner.config import Config
from anyner.architectures.nag_ner.links import Links
from anyner.architectures.nag_ner.spaces import PiecesOut, Said, WordsOut
from anyner.encoding.encoder import Encoder, States
from anyner.layers.decoder import Decoder, Memory
from anyner.layers.decoder_choice import NewDecoder, chosen_shape
from anyner.layers.norm import Norm
from anyner.layers.rows import Rows
from anyner.layers.spanpool import at_words
from anyner.layers.units import Units, units_of
from anyner.layers.waves import waves


@dataclass(frozen=True, slots=True)
class Blocks:
    """Q blocks: the word that each begins with, and which of its entities it is to write."""

    rows: Rows
    word: Tensor  # (Q,)
    rank: Tensor  # (Q,)


@dataclass(frozen=True, slots=True)
class Sentences:
    """What of the sentences is the same for all blocks."""

    states: States
    words: Tensor  # (B, M, w)
    units: Units
    memory: Memory
    shift: Tensor  # (B,) words by which each sentence is believed to stand further behind
    links: Tensor | None  # (B, M, M) how well one word follows another over a gap


class Writer(nn.Module):
    def __init__(self, config: Config, labels: int, encoder: Encoder) -> None:
        super().__init__()
        assert config.decoder is not None and config.longest is not None and config.most_at_one_word is not None
        assert config.most_pieces is not None, "the settings were not fitted to a corpus"
        self.settings = config
        self.taken_over = config.decoder != "new"
        width = config.width or encoder.width
        shape = chosen_shape(
            config.decoder,
            NewDecoder(width, config.layers, config.heads, config.feed_forward, input_norm=True),
            encoder.pretrained.config,
            dropout=config.dropout,
            memory_width=width,
            piece_width=encoder.piece_width,
        )
        self.decoder = Decoder(shape)
        tables = encoder.tables
        self.of_words = nn.Linear(encoder.width, shape.width)
        self.word_norm = Norm(shape.width)
        self.mask = nn.Parameter(nn.init.normal_(torch.empty(shape.width), std=0.02))
        self.places = nn.Parameter(waves(config.longest + 2, shape.width))
        self.word_places = nn.Parameter(waves(config.most_pieces, shape.width))
        self.ranks = nn.Parameter(nn.init.normal_(torch.empty(config.most_at_one_word, shape.width)))
        # the encoder's own table of positions tells where a block's word begins; in a tuple: it stays the encoder's
        self._positions = (tables.positions,)
        self._offset = tables.position_offset
        position_width = tables.positions.embedding_dim if tables.positions is not None else shape.width
        self.own_positions = None if tables.positions is not None else nn.Parameter(waves(config.most_pieces, shape.width))
        self.start_norm = Norm(position_width)
        self.of_starts = nn.Linear(position_width, shape.width)
        self.of_head = nn.Linear(encoder.width, shape.width) if config.head_word else None
        self.of_copied = nn.Linear(shape.width, shape.width) if config.copied and config.space == "pointer" else None
        self.types = nn.Linear(shape.width, labels + 1)  # 0: no entity
        assert config.farthest is not None
        self.out: WordsOut | PiecesOut = WordsOut(shape.width, config.longest + 1, config.farthest)
        if config.space != "pointer":
            self.out = PiecesOut(shape.width, tables.tokens, whole=config.space == "vocab")
        jumps = config.writing == "rows" and not config.contiguous and config.longest > 1
        self.gap = nn.Parameter(torch.zeros(config.longest)) if jumps else None  # what a gap behind so many units costs
        linked = config.links > 0 and jumps and config.space == "pointer"
        self.links = Links(shape.width, config.links, config.farthest, config.dropout) if linked else None
        self.tail = WordsOut(shape.width, 1, config.farthest) if config.tail else None

    def read(self, states: States, shift: Tensor | None = None) -> Sentences:
        """`shift` (B,), in training: sentences are believed to stand anywhere in a window, so that long texts hold no place that
        was never seen.
        """
        shift = shift if shift is not None else torch.zeros(len(states.lengths), dtype=torch.long, device=states.words.device)
        words = self.word_norm(self.of_words(states.words))  # (B, M, w)
        place = shift[:, None] + torch.arange(words.shape[1], device=shift.device)  # (B, M)
        links = self.links(words) if self.links is not None else None
        words = words + self._places(place).to(words.dtype)
        units = units_of(states, "words" if self.settings.space == "pointer" else "pieces", self.out.tokens)
        if self.taken_over:
            memory = self.decoder.remember(states.pieces, states.piece_mask)
        else:
            memory = self.decoder.remember(words, states.word_mask if len(set(states.lengths)) > 1 else None)
        return Sentences(states, words, units, memory, shift, links)

    def forward(self, sentences: Sentences, blocks: Blocks) -> Tensor:
        """What stands in each block: (Q, longest + 2, w)."""
        inputs = (self.mask + self.places).to(sentences.words.dtype) + self._tagged(sentences, blocks)[:, None]  # (Q, T, w)
        if self.of_copied is not None:
            inputs = inputs + self._copied(sentences, blocks)
        return self.decoder(inputs, blocks.rows, sentences.memory, causal=self.settings.causal)  # type: ignore[no-any-return]

    def _copied(self, sentences: Sentences, blocks: Blocks) -> Tensor:
        """What an entity without gaps would have at each position, none at that of the label: (Q, T, w)."""
        assert self.of_copied is not None
        copied = self.of_copied(sentences.words)  # (B, M, w)
        word = blocks.word[:, None] + torch.arange(len(self.places) - 1, device=blocks.word.device)  # (Q, T - 1)
        there = word < sentences.states.word_mask.sum(1)[blocks.rows.sentence][:, None]
        own = at_words(copied, blocks.rows.sentence[:, None], word.clamp(max=copied.shape[1] - 1))  # (Q, T - 1, w)
        return functional.pad(torch.where(there[..., None], own, 0.0), (0, 0, 1, 0))

    def said(self, sentences: Sentences, blocks: Blocks, written: Tensor) -> Said:
        said: Said = self.out(written[:, 1:], blocks.rows, blocks.word, sentences.words, sentences.units)
        return said

    def last_words(self, sentences: Sentences, blocks: Blocks, written: Tensor) -> Tensor | None:
        """Log probabilities of each word of the sentence being the entity's last one: (Q, M)."""
        if self.tail is None:
            return None
        units = units_of(sentences.states, "words", None)
        said: Said = self.tail(written.mean(1, keepdim=True), blocks.rows, blocks.word, sentences.words, units)
        return said.units[:, 0]

    def _places(self, place: Tensor) -> Tensor:
        return functional.embedding(place.clamp(max=len(self.word_places) - 1), self.word_places)

    def _tagged(self, sentences: Sentences, blocks: Blocks) -> Tensor:
        """What tells blocks apart: (Q, w)."""
        sentence, word = blocks.rows.sentence, blocks.word
        states, kind = sentences.states, sentences.words.dtype
        tag = torch.zeros(len(word), sentences.words.shape[-1], dtype=kind, device=word.device)
        if self.settings.start_positions:
            piece = states.first_piece[sentence, word]  # (Q,)
            shared = self._positions[0]
            if shared is not None:
                start = functional.embedding(piece + self._offset, shared.weight)  # BART's module is asked in another way
            else:
                assert self.own_positions is not None
                start = self.own_positions[piece]
            tag = (
                tag
                + self.of_starts(self.start_norm(start)).to(kind)
                + (self._places(word + sentences.shift[sentence]) + self.ranks[blocks.rank]).to(kind)
            )
        if self.of_head is not None:
            tag = tag + self.of_head(states.words[sentence, word]).to(kind)
        return tag
