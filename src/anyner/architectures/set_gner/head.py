"""A detector finds head words, and each generates its entities: all sequences of all sentences in parallel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from anyner.architectures import base
from anyner.architectures.base import Losses, LossPart, Step
from anyner.architectures.decoder_step import decoder_step
from anyner.architectures.draw import Draw
from anyner.architectures.generation import PRETRAINED_RATE
from anyner.architectures.set_gner.config import LEAST_LIKELY, NONE, Config, Limits, SetOptions
from anyner.architectures.set_gner.decode import decode
from anyner.architectures.set_gner.network import Network, Sentences
from anyner.architectures.set_gner.search import Hypotheses, Reach, generate
from anyner.architectures.set_gner.targets import IGNORED, Targets, targets_of
from anyner.architectures.settings import Decoding, HeadConfig, least_before_rescoring, least_score
from anyner.architectures.spans import span_classifier_of, span_losses, span_tables
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.gold import Gold
from anyner.layers.decoder import Memory
from anyner.layers.sequences import Sequences, SequencesInGraph
from anyner.layers.span_classifier import Boundaries, ReadWords, rescored
from anyner.layers.units import UnitEntities, Units, WordUnits, units_of
from anyner.text.windows import PieceCutter


@dataclass(frozen=True, slots=True)
class GeneratedEntities(base.Proposals):
    """P entities."""

    place: Tensor  # (P, 3) sentence, label, number of units
    words: Tensor  # (P, L) word of each unit
    score: Tensor  # (P,) probability, times the number of entities at the head
    head: Tensor  # (P,) probability of the first word to start an entity


class Head(base.Head):
    Config = Config
    CallOptions = SetOptions
    decode = staticmethod(decode)
    training_only = ("inverse.",)

    def __init__(self, config: HeadConfig, labels: Sequence[str], encoder: Encoder) -> None:
        super().__init__(config, labels, encoder)
        assert isinstance(config, Config)
        self.settings = config
        self.network = Network(config, len(labels), encoder)
        self.inverse: Network | None = None
        classes, split = len(labels), not config.contiguous
        self.span_classifier = span_classifier_of(config.span_classifier, encoder.width, classes, discontinuous=split)
        self._tokens = (encoder.tables.tokens,)  # a tuple: the embedding stays the encoder's and is not registered

    def start(self, encoder: Encoder, cut: PieceCutter) -> None:
        self.network.start(self.labels, encoder, cut)
        if self.settings.inverse:
            self.inverse = deepcopy(self.network)

    def rate_share(self, name: str) -> float:
        return PRETRAINED_RATE if self.settings.decoder != "new" and ".decoder." in name else 1.0

    def units(self, states: States) -> Units:
        return units_of(states, self.settings.unit, self._tokens[0])

    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        config, network, units, host = self.settings, self.network, self.units(states), gold.host
        entities = UnitEntities.of(host, WordUnits.of(states.windows, config.unit))
        entities = entities.only(config.expressible(entities.first, entities.last, np.diff(entities.offsets)))
        if self.inverse is not None and draw.step % 2 == 0:  # the two directions alternate
            network, units, entities = self.inverse, units.mirrored(), entities.mirrored(units.lengths)
        targets = targets_of(entities, units.lengths, len(self.labels), config)
        return {
            "generation": self._generation_loss(network, units, targets, states, gold),
            **self._detection_losses(network, units, targets, states, gold),
            **span_losses(self.span_classifier, config.span_classifier, states, gold),
        }

    def _generation_loss(self, network: Network, units: Units, targets: Targets, states: States, gold: Gold) -> LossPart:
        """Equation 15. Entities and the short sequences of all other units are decoded as two groups."""
        sentences = network.read(units, states, unknown=None if gold.all_annotated else ~gold.annotated)
        totals, counts = [], []
        for group in (targets.entities, targets.others):
            if not len(group.sentence):
                continue
            sequences = Sequences.of(group.sentence, len(units.lengths), sentences.keys.device)
            inputs, symbols = states.placed(group.inputs), states.placed(group.targets)  # (N, T) each
            hidden = network(sentences, sequences, inputs, inputs[:, 0])
            log = network.log_probabilities(sentences, sequences, hidden, inputs[:, 0], inputs)
            if group is targets.others and not gold.all_annotated:  # a unit outside entities may be one of another label
                symbols = symbols.where(gold.annotated.all(1)[sequences.sentence][:, None], IGNORED)
            loss = functional.nll_loss(log.flatten(0, 1), symbols.flatten(), ignore_index=IGNORED, reduction="none")
            totals.append(loss.sum())
            counts.append((symbols != IGNORED).sum())
        return LossPart(torch.stack(totals).sum(), torch.stack(counts).sum())

    def _detection_losses(self, network: Network, units: Units, targets: Targets, states: States, gold: Gold) -> Losses:
        """Equations 6 and 10, over the units whose gold is known."""
        parts, occurrences = states.placed(targets.parts), states.placed(targets.occurrences)
        known = units.mask & (gold.annotated.all(1)[:, None] | (parts[..., 0] > 0))  # (B, U)
        losses: dict[str, Tensor] = {}  # (B, U) each
        of_parts, of_counts = network.detect(units.vectors)
        if of_parts is not None:
            losses["parts"] = functional.binary_cross_entropy_with_logits(of_parts, parts, reduction="none").sum(-1)
        if of_counts is not None:
            losses["occurrences"] = functional.cross_entropy(of_counts.transpose(1, 2), occurrences, reduction="none")
        return {name: LossPart.mean(loss, known) for name, loss in losses.items()}

    def propose(self, states: States, decoding: Decoding, draw: Draw) -> GeneratedEntities:
        config, options, thresholds = self.settings, decoding.options, decoding.thresholds
        assert isinstance(options, SetOptions) and config.longest is not None and config.most_at_one_word is not None
        units = self.units(states)
        head_probability, number = self._heads(units, options)  # (B, U) each
        chosen = units.mask & (head_probability >= thresholds.get("head", 0.0))
        share, read, reach = 0.0, None, None
        if self.span_classifier is not None and options.score_share:
            share, read = options.score_share, self.span_classifier.read(states.words)
            if config.constrained and not config.contiguous and config.unit == "words":
                reach = self.span_classifier.farthest(read, states.word_mask, LEAST_LIKELY)  # (B, M) each
                chosen &= torch.maximum(*reach) >= 0
        sequences, head = Sequences.of_mask(chosen)  # H
        sentence = sequences.sentence  # (H,)
        least = NONE
        if "score" in thresholds:  # the score is at most the probability times the number of entities
            least = math.log(least_before_rescoring(least_score(thresholds), share) / config.most_at_one_word)
        bounds = Reach(*(one[sentence, head] for one in reach)) if reach is not None else None
        limits = Limits(options.beam, config.longest, least, not config.constrained)
        best = generate(self.network, self.network.read(units, states), sequences, head, limits, reach=bounds)
        entities = self._proposed(best, units, sentence, head_probability[sentence, head], number[sentence, head])
        return self._rescored(entities, read, share)

    def read(self, states: States) -> Mapping[str, Tensor] | None:
        if self.settings.unit != "words" or not self.settings.constrained:
            return None
        units, (parts, counts) = self.units(states), self.network.detect(states.words)
        sentences = self.network.read(units, states)
        heads = {"parts": parts[..., 0] if parts is not None else None, "counts": counts}
        detected = {name: value for name, value in heads.items() if value is not None}
        read = {"inputs": sentences.inputs, "keys": sentences.keys, **sentences.memory.named()}
        return {**read, **detected, **span_tables(self, states)}

    def steps(self) -> Mapping[str, Step]:
        """The decoder: log probabilities of what follows each element of a sequence."""
        network = self.network

        def following(given: Mapping[str, Tensor], memory: Memory, at: SequencesInGraph) -> Mapping[str, Tensor]:
            symbol_keys, elements = network.key(network.symbols), given["elements"]
            sentences = Sentences(given["inputs"], given["keys"], symbol_keys, given["lengths"], memory, None)
            states = network(sentences, at, elements, elements[:, 0])
            return {"log": network.log_probabilities(sentences, at, states, elements[:, 0], elements)}

        sentences = {
            "inputs": torch.zeros(2, 5, network.width),
            "keys": torch.zeros(2, 5, network.width),
            "mask": torch.ones(2, 6 if self.settings.reads == "pieces" else 5, dtype=torch.bool),
            "lengths": torch.tensor([5, 4]),
        }
        elements = {"elements": torch.zeros(4, 7, dtype=torch.long)}
        return {"following": decoder_step(following, network.decoder.shape, sentences, elements)}

    def _heads(self, units: Units, options: SetOptions) -> tuple[Tensor, Tensor]:
        """Probability of starting an entity, and the number of entities to keep if any starts (equation 16): (B, U) each."""
        parts, counts = self.network.detect(units.vectors)
        probability = parts[..., 0].sigmoid() if parts is not None else units.mask.float()
        return probability, options.number_of_entities(counts) if counts is not None else units.mask.long()

    def _proposed(
        self, best: Hypotheses, units: Units, sentence: Tensor, head_probability: Tensor, number: Tensor
    ) -> GeneratedEntities:
        """The `number` (H,) best entities of each head."""
        rank = torch.arange(best.size.shape[1], device=sentence.device)
        head, place = ((rank < number[:, None]) & (best.log > NONE)).nonzero().unbind(1)  # (P,) each
        words = best.units[head, place]  # (P, L)
        if units.word is not None:
            words = units.word[sentence[head]].gather(1, words)
        score = (best.log[head, place].exp() * number[head]).clamp(max=1.0)
        which = torch.stack([sentence[head], best.label[head, place], best.size[head, place]], dim=1)
        return GeneratedEntities(which, words, score, head_probability[head])

    def _rescored(self, entities: GeneratedEntities, read: ReadWords | None, share: float) -> GeneratedEntities:
        if self.span_classifier is None or read is None:
            return entities
        sentence, label, size = entities.place.unbind(1)  # (P,) each
        boundaries = Boundaries.of_words(sentence, entities.words, size)
        probability = self.span_classifier.probabilities(read, boundaries).gather(1, label[:, None])[:, 0]  # (P,)
        return replace(entities, score=rescored(entities.score, probability, share))
