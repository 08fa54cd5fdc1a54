"""Words that begin entities are found, and a decoder writes all entities of all of them in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures import base
from anyner.architectures.base import Losses, LossPart
from anyner.architectures.checking import checking, span_check
from anyner.architectures.draw import Draw
from anyner.architectures.nag_ner.candidates import in_doubt, looked_at
from anyner.architectures.nag_ner.config import Config, NagOptions
from anyner.architectures.nag_ner.decode import decode
from anyner.architectures.nag_ner.exact import best_for_each
from anyner.architectures.nag_ner.layout import IMPOSSIBLE, Layout, laid_out, only_best
from anyner.architectures.nag_ner.proposals import InformedCheck, WrittenBlocks, WrittenRows, labelled
from anyner.architectures.nag_ner.spaces import END, MORE, PiecesOut, Said
from anyner.architectures.nag_ner.start import begin_from_masked_words
from anyner.architectures.nag_ner.targets import ENDS, GOES_ON, IGNORED, BlockTargets, UnitsOfWords, stretches, targets_of
from anyner.architectures.nag_ner.total import log_total
from anyner.architectures.nag_ner.writer import Blocks, Sentences, Writer
from anyner.architectures.settings import Decoding, HeadConfig
from anyner.architectures.writing import to_write
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.gold import Gold
from anyner.errors import AnynerError
from anyner.layers.contiguous import number_in_sentence
from anyner.layers.decoder_choice import begin
from anyner.layers.rows import Rows
from anyner.text.windows import PieceCutter

COPIED = 0.3
"""Share of the words that write what stands behind them while the writer warms up."""
SHAKEN = 0.1
"""Random share in the choice of negatives, so that in time all words are seen."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """Q blocks that are asked, and how likely it is that anything begins at their words."""

    blocks: Blocks
    start: Tensor  # (Q,)
    crowded: Tensor  # (Q,) bool: it shares its word with others, which may want the same entity


class Head(base.Head):
    Config = Config
    CallOptions = NagOptions
    decode = staticmethod(decode)

    def __init__(self, config: HeadConfig, labels: Sequence[str], encoder: Encoder) -> None:
        super().__init__(config, labels, encoder)
        assert isinstance(config, Config)
        assert config.most_at_one_word is not None and config.longest is not None, "the settings were not fitted to a corpus"
        self.settings, self.most, self.longest = config, config.most_at_one_word, config.longest
        self.writer = Writer(config, len(labels), encoder)
        width = encoder.width
        self.check = span_check(config, width, len(labels))
        self.starts = (
            nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(config.dropout), nn.Linear(width, self.most + 1))
            if config.starts
            else None
        )

    def start(self, encoder: Encoder, cut: PieceCutter) -> None:
        assert self.settings.decoder is not None
        begin(self.writer.decoder, self.settings.decoder, encoder)
        if self.settings.links and (self.settings.space != "pointer" or self.settings.writing != "rows"):
            raise AnynerError("head.links is for rows of words; set head.space to pointer and head.writing to rows")
        if self.settings.mlm_head:
            if not isinstance(self.writer.out, PiecesOut):
                raise AnynerError("head.mlm_head is for writing in pieces; set head.space to sentence or vocab")
            begin_from_masked_words(self.writer.out, encoder)

    def rate_share(self, name: str) -> float:
        return self.settings.pretrained_rate if self.settings.decoder != "new" and name.startswith("writer.decoder.") else 1.0

    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        if 0 < draw.epoch <= self.settings.copy_epochs:
            return self._copying(states, draw)
        units = self._units(states)
        host = to_write(self.settings, states, gold, draw)
        there = self.settings.expressible(host.first, host.last, np.diff(host.offsets))
        targets = targets_of(host.only(there), units, self.longest, self.most)
        begun = states.placed(targets.starts)  # (B, M)
        complete = gold.annotated.all(1)  # (B,) elsewhere a word that begins nothing may begin an entity of an unknown label
        parts: dict[str, LossPart] = {}
        sought = states.placed(draw.uniform("negatives", states.content_keys, states.words.shape[1]))  # (B, M)
        if self.starts is not None:
            logits = self.starts(states.words).float()  # (B, M, O + 1)
            parts["starts"] = self._starting(logits, begun, states.word_mask & (complete[:, None] | (begun > 0)))
            sought = 1 - logits.detach().softmax(-1)[..., 0] + SHAKEN * sought
        sentences = self._anywhere(states, draw)
        sought = sought.masked_fill((begun > 0) | ~states.word_mask, -1.0)
        blocks, entities = self._blocks(states, targets, self._others(states, targets), sought=sought, draw=draw)
        counted = torch.ones(len(blocks.word), dtype=torch.bool, device=begun.device)
        counted[entities:] = complete[blocks.rows.sentence[entities:]]
        written = self.writer(sentences, blocks)  # (Q, T, w)
        label = functional.pad(states.placed(targets.label) + 1, (0, len(blocks.word) - entities))  # (Q,) 0: no entity
        types = self._types(written, gold.annotated[blocks.rows.sentence])
        loss = functional.nll_loss(types, label, reduction="none")
        parts["types"] = LossPart(torch.where(counted, loss, 0.0).sum(), counted.sum())
        said, wanted = self.writer.said(sentences, blocks, written), self._wanted(targets, blocks, units, states)
        parts["writing"] = self._writing(said, wanted, counted, blocks, sentences)
        last = self.writer.last_words(sentences, blocks, written)
        if last is not None:
            own = last[:entities].gather(1, states.placed(targets.last)[:, None])
            parts["last words"] = LossPart(-own.sum(), torch.tensor(float(entities), device=own.device))
        return {**parts, **checking(self.check, self.settings, states, gold)}

    @staticmethod
    def _starting(logits: Tensor, begun: Tensor, known: Tensor) -> LossPart:
        """Equation 3's cross-entropy, over the words of which it is known how many entities begin there."""
        loss = functional.cross_entropy(logits.flatten(0, 1), begun.flatten(), reduction="none").view(known.shape)
        return LossPart(torch.where(known, loss, 0.0).sum(), known.sum())

    def _copying(self, states: States, draw: Draw) -> Losses:
        """Warms the writer up without entities: rank n of a word writes the word and the n behind it."""
        units = self._units(states)
        chosen = draw.uniform("copied", states.content_keys, max(states.lengths)) < COPIED  # (B, M)
        targets = targets_of(stretches(states.lengths, chosen, self.most), units, self.longest, self.most)
        sentences, none = self._anywhere(states, draw), np.zeros(len(states.lengths), dtype=np.int64)
        blocks, _ = self._blocks(states, targets, none, sought=states.word_mask.float(), draw=draw)
        said = self.writer.said(sentences, blocks, self.writer(sentences, blocks))
        everything = torch.ones(len(blocks.word), dtype=torch.bool, device=blocks.word.device)
        return {"copying": self._writing(said, self._wanted(targets, blocks, units, states), everything, blocks, sentences)}

    def _anywhere(self, states: States, draw: Draw) -> Sentences:
        """The sentences; every second one is believed to stand somewhere in a window, the others where they do in prediction."""
        room = (self.settings.most_pieces or 0) - np.array(states.lengths)  # (B,)
        drawn = 2 * draw.uniform("shift", states.content_keys, 1)[:, 0] - 1
        shift = np.maximum(drawn, 0) * np.maximum(room, 0)
        return self.writer.read(states, states.placed(shift.astype(np.int64)))

    def _others(self, states: States, targets: BlockTargets) -> NDArray[np.int64]:
        """How many words that begin no entity have a block in each sentence: (B,)."""
        entities = np.bincount(targets.sentence, minlength=len(states.lengths))
        free = np.array(states.lengths) - (targets.starts > 0).sum(1)
        others: NDArray[np.int64] = np.minimum(free, self.settings.negatives * entities + self.settings.spare_negatives)
        return others

    def _units(self, states: States) -> UnitsOfWords:
        return UnitsOfWords.words(states.windows) if self.settings.space == "pointer" else UnitsOfWords.pieces(states.windows)

    def _types(self, written: Tensor, annotated: Tensor) -> Tensor:
        """Log probabilities of no entity and of each label: (Q, 1 + C)."""
        logits: Tensor = self.writer.types(written[:, 0]).float()
        return logits.masked_fill(functional.pad(~annotated, (1, 0)), -1e4).log_softmax(-1)

    def _blocks(
        self, states: States, targets: BlockTargets, others: NDArray[np.int64], *, sought: Tensor, draw: Draw
    ) -> tuple[Blocks, int]:
        """The blocks of all entities; of one more at each of their words, where there is none; and of `others`, words that begin
        none, the most sought. And how many the first are.
        """
        sentences = len(states.lengths)
        one_more = np.nonzero((targets.starts > 0) & (targets.starts < self.most))  # (N,) sentences and (N,) words
        known = np.concatenate([targets.sentence, one_more[0]])  # of blocks whose words are known
        sentence = np.repeat(np.arange(sentences), others)
        slot = number_in_sentence(sentence, sentences)
        before = np.bincount(known, minlength=sentences)  # (B,)
        most = max(1, int((before + others).max()))
        rank = np.zeros(len(sentence), dtype=np.int64)
        if not self.settings.starts:  # every rank is asked at every word then, so each must learn to say no
            rank = (draw.uniform("ranks", states.content_keys, most)[sentence, slot] * self.most).astype(np.int64)
        host = np.stack(
            [
                np.concatenate([known, sentence]),
                np.concatenate([_numbered(known, sentences), before[sentence] + slot]),
                np.concatenate([targets.rank, targets.starts[one_more], rank]),
                np.concatenate([targets.word, one_more[1], slot]),
            ]
        )
        placed = states.placed(host)  # (4, Q)
        chosen = sought.topk(min(max(1, int(others.max(initial=0))), sought.shape[1])).indices  # (B, N)
        word = torch.cat([placed[3, : len(known)], chosen[placed[0, len(known) :], placed[3, len(known) :]]])
        rows = Rows(placed[0], placed[0] * most + placed[1], sentences, most)
        return Blocks(rows, word, placed[2]), len(targets.word)

    def _wanted(self, targets: BlockTargets, blocks: Blocks, units: UnitsOfWords, states: States) -> Tensor:
        """Units of every block, then ENDS or GOES_ON, then nothing: (Q, longest + 1). Words without entities write themselves."""
        own = states.placed(targets.units)
        sentence, word = blocks.rows.sentence[len(own) :], blocks.word[len(own) :]  # (N,) each
        first, size = states.placed(units.first), states.placed(units.size)
        number = torch.arange(own.shape[1], device=word.device)
        begin, count = first[sentence, word][:, None], size[sentence, word][:, None]  # (N, 1) each
        alone = torch.where(number < count, begin + number, torch.where(number == count, ENDS, IGNORED))  # (N, longest + 1)
        alone[:, -1] = torch.where(count[:, 0] > self.longest, GOES_ON, alone[:, -1])
        return torch.cat([own, alone])

    def _writing(self, said: Said, wanted: Tensor, counted: Tensor, blocks: Blocks, sentences: Sentences) -> LossPart:
        """Cross-entropy of what is wanted: among all rows of words, or at each position; either way for each position."""
        unit = said.units.gather(2, wanted.clamp(min=0)[..., None])[..., 0]  # (Q, P)
        log = torch.where(wanted >= 0, unit, torch.where(wanted == ENDS, said.special[..., END], said.special[..., MORE]))
        there = (wanted != IGNORED) & counted[:, None]
        loss = -torch.where(there, log, 0.0).sum()
        if self.settings.writing == "rows":
            loss = loss + torch.where(counted, self._total(self._laid_out(said, blocks, sentences)), 0.0).sum()
            before, behind = wanted[:, :-1], wanted[:, 1:]  # (Q, P - 1) each
            jumped = (behind >= 0) & (behind != before + 1) & counted[:, None]
            if self.writer.gap is not None:
                loss = loss + (jumped.sum(0)[: self.longest - 1] * self.writer.gap[1:]).sum()
            if sentences.links is not None:
                links = sentences.links[blocks.rows.sentence[:, None], before.clamp(min=0), behind.clamp(min=0)]  # (Q, P - 1)
                loss = loss - torch.where(jumped, links, 0.0).sum()
        return LossPart(loss, there.sum())

    def _laid_out(self, said: Said, blocks: Blocks, sentences: Sentences) -> Layout:
        units, farthest = self._units(sentences.states), self.settings.farthest
        return laid_out(said, blocks, sentences.states, units, farthest=farthest, links=sentences.links)

    def _total(self, layout: Layout) -> Tensor:
        """Log of the sum over all rows of words, those that do not fit among them: (Q,)."""
        end = torch.logaddexp(layout.end, layout.more.clamp(min=2 * IMPOSSIBLE))
        return log_total(layout.placed, layout.sizes, end, self._gap(0.0), largest=layout.largest, links=layout.links)

    def _gap(self, more: float) -> Tensor | None:
        """What a gap costs behind so many units, (L,); None: there are no gaps."""
        if self.settings.contiguous:
            return None
        own = self.writer.gap if self.writer.gap is not None else torch.zeros(self.longest, device=self.writer.mask.device)
        return own.float() + more

    def propose(self, states: States, decoding: Decoding, draw: Draw) -> WrittenBlocks:
        options = decoding.options
        assert isinstance(options, NagOptions)
        sentences = self.writer.read(states)
        begun = self._begun(states, decoding)
        blocks = begun.blocks
        written = self.writer(sentences, blocks)
        annotated = torch.ones(len(blocks.word), len(self.labels), dtype=torch.bool, device=blocks.word.device)
        types = self._types(written, annotated)[:, 1:].exp()  # (Q, C)
        said = self.writer.said(sentences, blocks, written)
        everything = self._laid_out(said, blocks, sentences)
        layout = self._laid_out(only_best(said), blocks, sentences) if options.decoding == "greedy" else everything
        gap = self._gap(options.gap)
        ends = [layout.end] if self.writer.tail is None else [layout.end, layout.more]
        best, *full = best_for_each(layout.placed, layout.sizes, ends, gap, layout.links)
        total = self._total(everything) if self.settings.writing == "rows" else None
        undecided, checked = begun.crowded, self.check is not None and options.check_share > 0
        if checked and total is not None and gap is not None:
            undecided = undecided | in_doubt(best, total, options.doubt)
        best = looked_at(layout, best, gap, undecided=undecided, checked=checked, count=options.alternatives)
        score = _sure(best.score, layout.units_of(best.words, best.count), total[:, None] if total is not None else None)
        rows = WrittenRows(blocks, best, score, last=blocks.word, long_sure=torch.zeros_like(begun.start))
        tails = self.writer.last_words(sentences, blocks, written)
        if tails is not None:
            word = torch.arange(tails.shape[1], device=tails.device)
            found, last = tails.masked_fill(word < blocks.word[:, None] + full[0].count, 2 * IMPOSSIBLE).max(1)  # (Q,) each
            there = (full[0].score[:, 0] > IMPOSSIBLE) & (found > IMPOSSIBLE)
            sure = _sure(full[0].score[:, 0], torch.full_like(last, self.longest), total)
            rows = replace(rows, last=last, long_sure=torch.where(there, sure, 0.0))
        return labelled(rows, types, begun.start, InformedCheck.of(self.check, states.words, options.check_share))

    def _begun(self, states: States, decoding: Decoding) -> _Begun:
        """Blocks for all entities that are expected."""
        if self.starts is None:
            reached = states.word_mask.float()[..., None].expand(-1, -1, self.most)  # (B, M, O)
        else:
            reached = 1 - self.starts(states.words).float().softmax(-1).cumsum(-1)[..., :-1]  # that more than n begin there
        assert isinstance(decoding.options, NagOptions)
        one_more = reached[..., 1:] >= decoding.options.more * reached[..., :-1]  # (B, M, O - 1) given those before it
        chosen = states.word_mask & (reached[..., 0] >= decoding.thresholds.get("start", 0.0))
        asked = chosen[..., None] & functional.pad(one_more.long(), (1, 0), value=1).cumprod(-1).bool()  # (B, M, O)
        most = int(asked.sum((1, 2)).max())  # the host waits once, for how many blocks there are
        sentence, word, rank = asked.nonzero().unbind(1)  # (Q,) each
        place = (asked.flatten(1).cumsum(1) - 1)[sentence, word * self.most + rank]
        blocks = Blocks(Rows(sentence, sentence * most + place, len(asked), most), word, rank)
        crowded = asked.sum(2)[sentence, word] > 1
        return _Begun(blocks, reached[sentence, word, 0], crowded)


def _sure(score: Tensor, units: Tensor, total: Tensor | None) -> Tensor:
    """Rows of log scores as probabilities, 0 where there is none: among all rows, or the geometric mean of their positions."""
    sure = (score - total).exp() if total is not None else (score / (units + 1)).exp()
    return torch.where(score > IMPOSSIBLE, sure, 0.0)


def _numbered(sentence: NDArray[np.int64], sentences: int) -> NDArray[np.int64]:
    """Which of its sentence's each is, in the order they come: (N,)."""
    order = np.argsort(sentence, kind="stable")
    numbers = np.empty_like(sentence)
    numbers[order] = number_in_sentence(sentence[order], sentences)
    return numbers
