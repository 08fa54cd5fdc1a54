"""One sequence per sentence: the words of the first entity, its label, the words of the second, …, the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from anyner.architectures import base
from anyner.architectures.base import Losses, LossPart
from anyner.architectures.draw import Draw
from anyner.architectures.set_gner.config import Config as SetConfig
from anyner.architectures.set_gner.network import Positions
from anyner.architectures.settings import Decoding, HeadConfig
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.gold import Gold, GoldArrays
from anyner.layers.decoder import Decoder, DecoderShape, Memory, Norm
from anyner.layers.sequences import Sequences
from anyner.layers.units import units_of
from anyner.overlap import resolve
from anyner.text.align import WordEntity
from rival.config import Config, SequenceOptions

END = 0
"""Symbols: the end, then labels, then words. The end symbol also starts a sequence."""
IGNORED = -100
HIDDEN = -1e4


@dataclass(frozen=True, slots=True)
class Sentences:
    table: Tensor  # (B, 1 + C + M, w) inputs: the end, labels, words
    keys: Tensor  # (B, 1 + C + M, w) keys of the pointer
    allowed: Tensor  # (B, M) real words
    memory: Memory


@dataclass(frozen=True, slots=True)
class BestSequences(base.Proposals):
    symbols: Tensor  # (B, L) of the best sequence of each sentence
    score: Tensor  # (B,) its probability


class Head(base.Head):
    Config = Config
    CallOptions = SequenceOptions

    def __init__(self, config: HeadConfig, labels: Sequence[str], encoder: Encoder) -> None:
        super().__init__(config, labels, encoder)
        assert isinstance(config, Config) and config.most_units is not None
        self.longest = config.longest
        tokens, width = encoder.tables.tokens, encoder.width
        heads = max(1, width // 64)
        self.decoder = Decoder(
            DecoderShape(width, config.layers, heads, width // heads, 2 * width, width, dropout=config.dropout)
        )
        self.symbols = nn.Parameter(torch.randn(1 + len(labels), width))
        self.symbol_bias = nn.Parameter(torch.zeros(1 + len(labels)))
        self.embedded = nn.Linear(tokens.embedding_dim, width)
        self.vector_norm, self.embedded_norm = Norm(width), Norm(width)
        self.asking, self.pointed = nn.Linear(width, width), nn.Linear(width, width)
        self.dropout = nn.Dropout(config.dropout)
        tables = SetConfig(most_units=max(config.most_units, config.longest), longest=config.longest, interval=1)
        self.word_positions, self.step_positions = Positions(tables, width, None), Positions(tables, width, None)
        self._tokens = (tokens,)

    def read(self, states: States) -> Sentences:
        units = units_of(states, "words", self._tokens[0])
        words = self.vector_norm(units.vectors)
        words = (words + self.embedded_norm(self.embedded(units.embedded)).to(words.dtype)) / 2
        words = words + self.word_positions.of_units(words.shape[1]).to(words.dtype)  # (B, M, w)
        symbols = self.symbols.to(words.dtype).expand(len(words), -1, -1)
        table = torch.cat([symbols, words], dim=1)
        return Sentences(table, self.pointed(self.dropout(table)), units.mask, self.decoder.project_memory(words, units.mask))

    def log_probabilities(self, sentences: Sentences, rows: Sequences, states: Tensor, last: Tensor) -> Tensor:
        """Log probabilities of the symbols after `last` (N, T): (N, T, 1 + C + M)."""
        first_word = 1 + len(self.labels)
        asking = self.asking(self.dropout(states)) * states.shape[-1] ** -0.5
        logits = rows.from_grid(rows.to_grid(asking) @ sentences.keys.transpose(1, 2), last.shape[1]).float()
        logits[..., :first_word] += self.symbol_bias
        word = torch.arange(sentences.allowed.shape[1], device=last.device)
        inside = (last >= first_word)[..., None]  # (N, T, 1) within an entity: later words or a label, else any word or the end
        later = torch.where(inside, word > last[..., None] - first_word, True) & sentences.allowed[rows.sentence][:, None]
        labels = inside.expand(*last.shape, len(self.labels))
        return logits.masked_fill(~torch.cat([~inside, labels, later], dim=-1), HIDDEN).log_softmax(-1)

    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        sentences = self.read(states)
        host = targets_of(gold.host, len(states.lengths), len(self.labels), self.longest)  # (B, T)
        symbols = states.placed(host)
        entered = torch.cat([torch.zeros_like(symbols[:, :1]), symbols[:, :-1].clamp(min=0)], dim=1)
        rows = Sequences.of(np.arange(len(host)), len(host), symbols.device)
        index = rows.sentence[:, None] * sentences.table.shape[1] + entered
        step = torch.arange(entered.shape[1], device=symbols.device)
        inputs = sentences.table.flatten(0, 1).index_select(0, index.flatten()).view(*index.shape, -1)
        inputs = inputs + self.step_positions.of_sequences(torch.zeros_like(rows.sentence), step).to(inputs.dtype)
        scores = self.log_probabilities(sentences, rows, self.decoder(inputs, rows, sentences.memory), entered)
        there = symbols != IGNORED
        loss = -scores.gather(2, symbols.clamp(min=0)[..., None])[..., 0]
        return {"generation": LossPart(torch.where(there, loss, 0.0).sum(), there.sum())}

    def propose(self, states: States, decoding: Decoding, draw: Draw) -> BestSequences:
        """Beam search over whole sentences. A beam that ranks below the best finished one is pruned, which is fast."""
        assert isinstance(decoding.options, SequenceOptions)
        sentences, beam, power = self.read(states), decoding.options.beam, decoding.options.length_power
        count, device, none = len(states.lengths), states.words.device, float("-inf")
        beams = torch.arange(beam, device=device)
        rows = Sequences.of(np.arange(count), count, device).repeated(beam)
        active = torch.arange(count, device=device)  # (A,) sentences that have unfinished rows
        history = torch.zeros(count, beam, self.longest + 1, dtype=torch.long, device=device)  # (A, P, L + 1)
        total = torch.where(beams == 0, 0.0, none).expand(count, -1)  # (A, P)
        best = torch.zeros(count, self.longest, dtype=torch.long, device=device)
        best_rank, best_log = torch.full((count,), -1e9, device=device), torch.full((count,), none, device=device)
        cache = self.decoder.cache(len(rows), self.longest, sentences.table)
        for step in range(self.longest):
            last = history[..., step].flatten()
            index = rows.sentence * sentences.table.shape[1] + last
            position = self.step_positions.of_sequences(torch.zeros_like(last), torch.tensor([step], device=device))[:, 0]
            inputs = sentences.table.flatten(0, 1).index_select(0, index) + position.to(sentences.table.dtype)
            made = self.decoder(inputs[:, None], rows, sentences.memory, past=(step, cache))
            scores = self.log_probabilities(sentences, rows, made, last[:, None])
            grown = total[..., None] + scores.view(*total.shape, -1)  # (A, P, 1 + C + M)
            ended, which = grown[..., END].max(1)  # (A,) each
            rank = ended / (step + 1) ** power
            better = (rank > best_rank[active]) & (ended > HIDDEN / 2)
            best_rank[active] = torch.where(better, rank, best_rank[active])
            best_log[active] = torch.where(better, ended, best_log[active])
            ending = history[torch.arange(len(active), device=device), which, 1:]
            best[active] = torch.where(better[:, None], ending, best[active])
            if step + 1 == self.longest:
                break
            total, chosen = grown[..., 1:].flatten(1).topk(beam)
            parent = chosen // (grown.shape[-1] - 1)
            pruned = (total < HIDDEN / 2) | (total / (step + 1) ** power <= best_rank[active][:, None])
            total = total.masked_fill(pruned, none)
            history = history.gather(1, parent[..., None].expand_as(history))
            history[..., step + 1] = chosen % (grown.shape[-1] - 1) + 1
            left = (total > none).any(1).nonzero()[:, 0]
            if not len(left):
                break
            cache = cache.index_select(2, (left[:, None] * beam + parent[left]).flatten())
            rows = rows[(left[:, None] * beam + beams).flatten()]
            active, total, history = active[left], total[left], history[left]
        return BestSequences(best, best_log.exp())

    @staticmethod
    def decode(proposals: Mapping[str, NDArray[Any]], sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
        first_word = 1 + len(decoding.labels)
        found: list[list[WordEntity]] = []
        for symbols, score in zip(proposals["symbols"].tolist(), proposals["score"].tolist(), strict=True):
            entities: dict[tuple[int, ...], WordEntity] = {}
            words: list[int] = []
            for symbol in symbols:
                if symbol >= first_word:
                    words.append(symbol - first_word)
                elif symbol == END:
                    break
                else:
                    label = decoding.labels[symbol - 1]
                    entities.setdefault((symbol, *words), WordEntity.of_words(label, words, score))
                    words = []
            found.append(resolve(list(entities.values()), decoding.policy) if len(entities) > 1 else list(entities.values()))
        return found


def targets_of(gold: GoldArrays, sentences: int, labels: int, longest: int) -> NDArray[np.int64]:
    """The symbols of each sentence's sequence, entities sorted by their first and then their last word: (B, T)."""
    spelt: list[list[int]] = [[] for _ in range(sentences)]
    for entity in np.lexsort((gold.last, gold.first, gold.sentence)).tolist():
        words = gold.words[gold.offsets[entity] : gold.offsets[entity + 1]]
        spelt[int(gold.sentence[entity])] += [*(words + 1 + labels).tolist(), int(gold.label[entity]) + 1]
    sequences = [[*own, END][:longest] for own in spelt]
    padded = np.full((sentences, max(map(len, sequences))), IGNORED, dtype=np.int64)
    for row, own in zip(padded, sequences, strict=True):
        row[: len(own)] = own
    return padded
