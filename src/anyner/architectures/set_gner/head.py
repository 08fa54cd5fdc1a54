"""Words that begin entities are detected, and each grows its entities: all rows of all sentences in parallel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures import base
from anyner.architectures.base import Losses, LossPart
from anyner.architectures.checking import checking, span_check
from anyner.architectures.draw import Draw
from anyner.architectures.generation import loosest_score
from anyner.architectures.set_gner.config import Config, SetOptions
from anyner.architectures.set_gner.decode import decode
from anyner.architectures.set_gner.detector import Detector
from anyner.architectures.set_gner.finished import NONE, Grown, Limits, Reach
from anyner.architectures.set_gner.generator import Generator, Sentences, Widths
from anyner.architectures.set_gner.search import grown
from anyner.architectures.set_gner.start import begin_from_labels, begin_from_pretrained
from anyner.architectures.set_gner.targets import IGNORED, RowTargets, Targets, UnitEntities, targets_of, unit_symbol
from anyner.architectures.settings import Decoding, HeadConfig
from anyner.architectures.writing import to_write
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.gold import Gold
from anyner.layers.outline import outlined
from anyner.layers.rows import Rows
from anyner.layers.span_check import Read, agreed, least_before
from anyner.layers.units import Units, units_of
from anyner.text.windows import PieceCutter

CODE_WEIGHTS = (2.5, 2.3, 1.0)
"""Of labels and "fragment", of units, of "no entity", in the authors' code for discontinuous corpora."""
CODE_LOSSES = {"generation": 1.0, "parts": 0.8, "occurrences": 0.6}
CODE_OCCURRENCES = (0.0, 1.0, 1.5, 2.0, 2.5)
"""Weights of so many entities at a word there; 0 is not learned, and more are as the last."""
LEAST_LIKELY = 0.03
"""What the check has to give a span to be looked at: not less with looser thresholds, for tuning sees what prediction will."""


@dataclass(frozen=True, slots=True)
class GrownEntities(base.Proposals):
    """P entities."""

    place: Tensor  # (P, 3) sentence, label, units
    words: Tensor  # (P, L) word of each unit
    score: Tensor  # (P,) probability, times the number of entities expected at the head
    head: Tensor  # (P,) probability of beginning an entity


class Reader(nn.Module):
    """A detector and a generator that read a sentence in one direction."""

    def __init__(self, config: Config, labels: int, widths: Widths, encoder: Encoder) -> None:
        super().__init__()
        self.detector = Detector(config, widths.units)
        self.generator = Generator(config, labels, widths, encoder.pretrained.config)


class Head(base.Head):
    Config = Config
    CallOptions = SetOptions
    decode = staticmethod(decode)
    training_only = ("inverse.",)

    def __init__(self, config: HeadConfig, labels: Sequence[str], encoder: Encoder) -> None:
        super().__init__(config, labels, encoder)
        assert isinstance(config, Config)
        self.settings = config
        tokens = encoder.tables.tokens
        unit_width = encoder.width if config.unit == "words" else encoder.piece_width
        widths = Widths(unit_width, tokens.embedding_dim, encoder.piece_width)
        self.forwards = Reader(config, len(labels), widths, encoder)
        self.inverse: Reader | None = None
        self.check = span_check(config, encoder.width, len(labels))
        self._tokens = (tokens if config.token_embedding else None,)  # in a tuple: it stays the encoder's and is not registered

    def start(self, encoder: Encoder, cut: PieceCutter) -> None:
        begin_from_labels(self.forwards.generator, self.labels, encoder, cut)
        begin_from_pretrained(self.forwards.generator, encoder)
        if self.settings.inverse:
            self.inverse = deepcopy(self.forwards)

    def rate_share(self, name: str) -> float:
        taken_over = self.settings.decoder != "new" and ".generator.decoder." in name
        return self.settings.pretrained_rate if taken_over else 1.0

    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        config = self.settings
        units = units_of(states, config.unit, self._tokens[0])
        host = to_write(config, states, gold, draw)
        entities = UnitEntities.in_words(host) if config.unit == "words" else UnitEntities.in_pieces(host, states.windows)
        entities = entities.only(config.expressible(entities.first, entities.last, np.diff(entities.offsets)))
        reader = self.forwards
        if self.inverse is not None and draw.step % 2 == 0:  # the two directions take turns, step by step
            reader, units, entities = self.inverse, units.mirrored(), entities.mirrored(units.lengths)
        kept = (
            draw.uniform("negatives", states.content_keys, max(units.lengths)) < config.negatives
            if config.negatives < 1
            else None
        )
        assert config.most_at_one_word is not None
        targets = targets_of(entities, units.lengths, len(self.labels), config.most_at_one_word, kept)
        sentences = reader.generator.read(units, states)
        return {
            "generation": self._generation(reader.generator, sentences, targets, states, gold),
            **self._detection(reader.detector, units, targets, states, gold),
            **checking(self.check, config, states, gold),
        }

    def _generation(self, generator: Generator, sentences: Sentences, targets: Targets, states: States, gold: Gold) -> LossPart:
        """Equation 15; entities and the many rows of one unit in groups of their own, as long as their rows are."""
        complete = gold.annotated.all(1)  # (B,) elsewhere a word outside entities may be one of an unknown label
        parts = [
            self._written(generator, sentences, targets.entities, gold, states=states, counted=torch.ones_like(complete)),
            self._written(generator, sentences, targets.others, gold, states=states, counted=complete),
        ]
        return LossPart(sum((one for one, _ in parts[1:]), parts[0][0]), parts[0][1] + parts[1][1], self._share("generation"))

    def _written(
        self, generator: Generator, sentences: Sentences, target: RowTargets, gold: Gold, *, states: States, counted: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Weighted sum of the losses of rows, and the sum of the weights."""
        if not len(target.sentence):  # an empty sum that still has a way back: every parameter has a gradient in every step
            return 0.0 * sentences.keys.sum(), torch.zeros((), device=sentences.keys.device)
        rows = Rows.of_counts(target.counts, sentences.keys.device)
        units, symbols = states.placed(target.units), states.placed(target.symbols)  # (N, T) each
        written = generator.written(sentences, rows, units)  # (N, T, w)
        said = generator.log_probabilities(sentences, rows, written, units[:, 0], units, unknown=~gold.annotated)
        labels = len(self.labels)
        there = symbols != IGNORED
        wanted = torch.where(there, symbols, 0)
        if generator.rules.contiguous:  # the only unit that can follow has one symbol
            wanted = wanted.clamp(max=unit_symbol(labels))
        loss = -said.gather(2, wanted[..., None])[..., 0]  # (N, T)
        weight = (there & counted[rows.sentence][:, None]).to(loss.dtype)
        if self.settings.weighting == "code":
            of_label, of_unit, of_nothing = CODE_WEIGHTS
            weight = weight * torch.where(
                symbols >= unit_symbol(labels), of_unit, torch.where(symbols == labels, of_nothing, of_label)
            )
        return (weight * loss).sum(), weight.sum()

    def _detection(self, detector: Detector, units: Units, targets: Targets, states: States, gold: Gold) -> Losses:
        """Equations 6 and 10, over the units of which the truth is known."""
        found: dict[str, LossPart] = {}
        parts, occurrences = states.placed(targets.parts), states.placed(targets.occurrences)
        known = units.mask & (gold.annotated.all(1)[:, None] | (parts[..., 0] > 0))  # (B, U)
        logits = detector.begins(units.vectors)
        if logits is not None:
            loss = functional.binary_cross_entropy_with_logits(logits, parts, reduction="none").sum(-1)  # (B, U)
            found["parts"] = LossPart(torch.where(known, loss, 0.0).sum(), known.sum(), self._share("parts"))
        logits = detector.counts(units.vectors)
        if logits is not None:
            loss = functional.cross_entropy(logits.flatten(0, 1), occurrences.flatten(), reduction="none").view(known.shape)
            weight = known.to(loss.dtype)
            if self.settings.weighting == "code":
                weights = torch.tensor(CODE_OCCURRENCES, device=loss.device)
                weight = weight * weights[occurrences.clamp(max=len(CODE_OCCURRENCES) - 1)]
            found["occurrences"] = LossPart((weight * loss).sum(), weight.sum(), self._share("occurrences"))
        return found

    def _share(self, part: str) -> float:
        return CODE_LOSSES[part] if self.settings.weighting == "code" else 1.0

    def propose(self, states: States, decoding: Decoding, draw: Draw) -> GrownEntities:
        config, options = self.settings, decoding.options
        assert isinstance(options, SetOptions) and config.longest is not None and config.most_at_one_word is not None
        units = units_of(states, config.unit, self._tokens[0])
        sentences = self.forwards.generator.read(units, states)
        begins, expected, allowed = self._heads(units, options)  # (B, U) each
        chosen = units.mask & (begins >= decoding.thresholds.get("head", 0.0))
        share = options.check_share if self.check is not None else 0.0
        read = self.check.read(states.words) if self.check is not None and share else None
        reach = self._reach(read, states)
        if reach is not None:
            chosen &= torch.maximum(*reach) >= 0
        counts = chosen.sum(1)
        most = int(counts.max())  # the host waits once, for how many rows there are
        sentence, head = chosen.nonzero().unbind(1)  # (H,) each
        number = (chosen.cumsum(1) - 1)[sentence, head]
        rows = Rows(sentence, sentence * most + number, len(counts), most)
        limits = Limits(
            places=options.beam,
            longest=config.longest,
            least=math.log(least_before(loosest_score(decoding.thresholds), share) / config.most_at_one_word),
            length_power=options.length_power,
            null_counts=options.null_counts,
            reach=None if reach is None else Reach(*(one[sentence, head] for one in reach)),
        )
        result = grown(self.forwards.generator, sentences, rows, head, limits)
        heads = (begins[sentence, head], expected[sentence, head], allowed[sentence, head])  # (H,) each
        return self._agreed(self._proposed(result, units, sentence, heads), read, share)

    def _reach(self, read: Read | None, states: States) -> tuple[Tensor, Tensor] | None:
        """How far entities of each word without and with gaps may reach, if the check has a say: (B, U) each."""
        if self.check is None or read is None or self.settings.contiguous or self.settings.unit != "words":
            return None
        return self.check.reach(read, states.word_mask, LEAST_LIKELY)

    def _agreed(self, proposals: GrownEntities, read: Read | None, share: float) -> GrownEntities:
        """With the check's opinion in the scores."""
        if self.check is None or read is None:
            return proposals
        sentence, label, size = proposals.place.unbind(1)  # (P,) each
        checked = self.check(read, outlined(sentence, proposals.words, size), label)
        return replace(proposals, score=agreed(proposals.score, checked, share))

    def _heads(self, units: Units, options: SetOptions) -> tuple[Tensor, Tensor, Tensor]:
        """Probability of beginning an entity; if any begins there, how many are expected, and at most taken: (B, U) each."""
        detector = self.forwards.detector
        parts, counts = detector.begins(units.vectors), detector.counts(units.vectors)
        begins = parts[..., 0].sigmoid() if parts is not None else units.mask.float()
        if counts is None:
            return begins, torch.ones_like(begins), torch.ones_like(begins)
        if options.counting == "likeliest":
            likeliest = counts[..., 1:].argmax(-1) + 1
            return begins, likeliest, likeliest
        if options.counting == "asked":
            fewer = functional.pad(counts[..., 1:].softmax(-1).cumsum(-1), (1, 0))[..., :-1]  # (B, U, O) than n begin
            reached = 1 - fewer
            taken = 1 + (reached[..., 1:] >= options.more * reached[..., :-1]).long().cumprod(-1).sum(-1)
            return begins, taken, taken
        number = torch.arange(1, counts.shape[-1], device=counts.device)
        expected = (counts[..., 1:].softmax(-1) * number).sum(-1)
        return begins, expected, torch.full_like(expected, counts.shape[-1] - 1)

    def _proposed(self, result: Grown, units: Units, sentence: Tensor, heads: tuple[Tensor, Tensor, Tensor]) -> GrownEntities:
        """Of each head the best entities, as many as are taken there."""
        begins, expected, allowed = heads
        rank = torch.arange(result.size.shape[1], device=sentence.device)
        kept = (rank < allowed[:, None]) & (result.log_probability > NONE) & (result.symbol < len(self.labels))  # (H, F)
        head, place = kept.nonzero().unbind(1)  # (P,) each
        words = result.units[head, place]  # (P, L)
        if units.word is not None:
            words = units.word[sentence[head]].gather(1, words)
        score = (result.log_probability[head, place].exp() * expected[head]).clamp(max=1.0)
        which = torch.stack([sentence[head], result.symbol[head, place], result.size[head, place]], dim=1)
        return GrownEntities(which, words, score, begins[head])
