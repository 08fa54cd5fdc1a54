"""Two stages: locate spans that are close to an entity and shift their boundaries, then label the shifted spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures import base
from anyner.architectures.base import Losses, LossPart, Step
from anyner.architectures.draw import Draw
from anyner.architectures.locate_label import targets
from anyner.architectures.locate_label.config import Config, LocateLabelOptions
from anyner.architectures.locate_label.decode import decode
from anyner.architectures.locate_label.network import SpanNetwork, SpanReader
from anyner.architectures.locate_label.targets import Targets, shift
from anyner.architectures.settings import Decoding, HeadConfig, least_span_score
from anyner.architectures.spans import (
    SpanProposals,
    best_fragments,
    fragment_pairs_of,
    in_spans,
    pair_steps,
    span_classifier_of,
    span_losses,
    span_tables,
)
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.gold import Gold
from anyner.layers.contiguous import Entities
from anyner.layers.spanpool import Spans

REGRESSOR_WEIGHT = 0.1
"""Weight of the regressor's loss: the paper's lambda 2."""


@dataclass(frozen=True, slots=True)
class LabelledSpans(SpanProposals):
    """The distinct spans of the first stage with their labels; -1: no entity."""

    filter: Tensor  # (P,) the filter's largest probability among the seeds that were shifted here


class Head(base.Head):
    Config = Config
    CallOptions = LocateLabelOptions
    decode = staticmethod(decode)

    def __init__(self, config: HeadConfig, labels: Sequence[str], encoder: Encoder) -> None:
        super().__init__(config, labels, encoder)
        assert isinstance(config, Config)
        self.settings = config
        widths = (encoder.width, encoder.piece_width)
        self.filter = SpanNetwork(config, *widths, outputs=1) if config.filter else None
        self.regressor = SpanNetwork(config, *widths, outputs=2, outer=True) if config.regressor else None
        kinds = config.kinds(len(labels))
        self.classifier = SpanNetwork(config, *widths, outputs=kinds + 1)  # class 0: no entity
        self.span_classifier = span_classifier_of(config.span_classifier, encoder.width, kinds, read_by=self.classifier.output)
        self.fragment_pairs = fragment_pairs_of(config, encoder.width, len(labels))
        if self.regressor is not None:  # seeds hardly shift at first, so the classifier sees gold spans from the start
            nn.init.normal_(self.regressor.output.weight, std=1e-3)
            nn.init.zeros_(self.regressor.output.bias)

    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        config, (gold, pairs) = self.settings, in_spans(self.fragment_pairs, states, gold)
        found, reader = self.targets(states, gold, draw), SpanReader(states)
        seeds, positive = found.seeds, found.positive
        parts: dict[str, LossPart] = {}
        if self.filter is not None:
            loss = self._weights(found.iou, positive) * targets.focal_loss(self.filter(reader, seeds)[:, 0], positive)  # (Q,)
            # Where some label is not annotated, a seed that overlaps no known entity may still be one: it is not counted.
            parts["filter"] = LossPart.mean(loss, (found.iou > 0) | gold.annotated.all(1)[seeds.sentence])
        shifted = seeds
        if self.regressor is not None:
            offsets = self.regressor(reader, seeds)  # (Q, 2)
            parts["regressor"] = LossPart.mean(targets.regressor_loss(offsets, found), positive, REGRESSOR_WEIGHT)
            shifted = shift(seeds, offsets.detach(), reader.last_word)
        label, iou = found.labels_at(shifted)  # (Q,) each
        logits = gold.known(self._label_logits(reader, shifted), shifted.sentence)  # (Q, 1 + C)
        loss = self._weights(iou, label > 0) * functional.cross_entropy(logits, label, reduction="none")  # equation 16
        parts["classifier"] = LossPart(loss.sum(), loss.new_full((), len(loss)))
        return {**parts, **pairs, **span_losses(self.span_classifier, config.span_classifier, states, gold)}

    def targets(self, states: States, gold: Gold, draw: Draw) -> Targets:
        config, longest = self.settings, self.settings.longest
        chance = draw.uniform("negatives", states.content_keys, max(states.lengths) * longest)
        lengths = config.lengths or range(1, longest + 1)
        return Targets.of(states, Entities.of(gold.host), lengths, config.negatives, chance)

    def _weights(self, iou: Tensor, positive: Tensor) -> Tensor:
        return targets.soft_weights(iou, positive) if self.settings.soft_examples else torch.ones_like(iou)

    def propose(self, states: States, decoding: Decoding, draw: Draw) -> LabelledSpans:
        assert isinstance(decoding.options, LocateLabelOptions)
        reader = SpanReader(states)
        words, (_, shifted, probability) = states.words.shape[1], self.locate(reader, decoding)
        key = (shifted.sentence * words + shifted.first) * words + shifted.last  # (N,)
        key, number = torch.unique(key, return_inverse=True)  # (U,) (N,): each span is classified once
        passed = torch.zeros(len(key), device=key.device).scatter_reduce(0, number, probability, "amax")  # (U,)
        spans = Spans(key // (words * words), key // words % words, key % words)
        classes, labels = self._label_logits(reader, spans).softmax(-1), len(decoding.labels)  # (U, 1 + kinds)
        score, label = classes[:, : 1 + labels].max(-1)  # (U,) each
        place = torch.stack([spans.sentence, label - 1, spans.first, spans.last], dim=1)  # (U, 4)
        if self.fragment_pairs is not None:
            which, kind, own = best_fragments(classes[:, 1:], labels, least_span_score(decoding.thresholds))  # (F,) each
            fragments = torch.stack([spans.sentence[which], kind, spans.first[which], spans.last[which]], dim=1)  # (F, 4)
            place, score, passed = torch.cat([place, fragments]), torch.cat([score, own]), torch.cat([passed, passed[which]])
        if self.span_classifier is not None and (share := decoding.options.score_share):
            read = self.span_classifier.read(states.words)
            score = self.span_classifier.rescore(read, place.clamp(min=0), score, share)
        spans_and_pairs = SpanProposals.of(self.fragment_pairs, states, place, score)
        return LabelledSpans(place, score, spans_and_pairs.pair, spans_and_pairs.pair_score, passed)

    def read(self, states: States) -> Mapping[str, Tensor]:
        sides = {}
        for name, network in self._networks():
            sides[f"{name}_left"], sides[f"{name}_right"] = network.sides(states)
        return {"words": states.words, **sides, **span_tables(self, states)}

    def steps(self) -> Mapping[str, Step]:
        return {**{name: network.step() for name, network in self._networks()}, **pair_steps(self.fragment_pairs)}

    def _networks(self) -> list[tuple[str, SpanNetwork]]:
        every = (("filter", self.filter), ("regressor", self.regressor), ("classifier", self.classifier))
        return [(name, network) for name, network in every if network is not None]

    def locate(self, reader: SpanReader, decoding: Decoding) -> tuple[Spans, Spans, Tensor]:
        """The first stage: the seeds that pass the filter, the spans they are shifted to, and the filter's probability (N,).

        Several may be shifted to the same span.
        """
        lengths = self.settings.predicted_lengths
        kept = targets.enumerate_seeds(reader.last_word + 1, reader.states.words.shape[1], lengths)  # (B, L, M)
        sentence, length, first = kept.nonzero().unbind(1)  # (N,) each
        seeds, probability = Spans(sentence, first, first + length), torch.ones(len(first), device=first.device)
        if self.filter is not None:
            probability = self.filter(reader, seeds)[:, 0].sigmoid()  # (N,)
            passed = (probability >= decoding.thresholds["filter"]).nonzero()[:, 0]
            seeds, probability = seeds[passed], probability[passed]
        shifted = seeds if self.regressor is None else shift(seeds, self.regressor(reader, seeds), reader.last_word)
        return seeds, shifted, probability

    def _label_logits(self, reader: SpanReader, spans: Spans) -> Tensor:
        """Logits (N, 1 + C); class 0 is no entity."""
        logits: Tensor = self.classifier(reader, spans)
        if self.span_classifier is None or not self.settings.span_classifier.read_by_labels:
            return logits
        return logits + self.span_classifier.logits(self.span_classifier.read(reader.states.words), spans)
