"""Two stages: locate spans that are close to an entity and shift their boundaries, then label the shifted spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures import base
from anyner.architectures.base import Losses, LossPart
from anyner.architectures.draw import Draw
from anyner.architectures.locate_label.config import Config, LocateLabelOptions
from anyner.architectures.locate_label.decode import decode
from anyner.architectures.locate_label.network import SpanNetwork, SpanReader
from anyner.architectures.locate_label.targets import (
    Sampling,
    Seeds,
    Targets,
    enumerate_seeds,
    focal_loss,
    regressor_loss,
    sample_seeds,
    shift,
    soft_weights,
)
from anyner.architectures.settings import Decoding, HeadConfig
from anyner.architectures.spans import span_classifier_of, span_losses
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.gold import Gold
from anyner.layers.contiguous import Entities
from anyner.layers.span_classifier import Boundaries, rescored
from anyner.layers.spanpool import Spans

REGRESSOR_WEIGHT = 0.1
"""Of its loss beside those of filter and classifier: the paper's lambda 2."""


@dataclass(frozen=True, slots=True)
class LabelledSpans(base.Proposals):
    """The U different spans of the first stage, labelled."""

    place: Tensor  # (U, 4) sentence, label, first word, last word (inclusive); label -1: no entity
    score: Tensor  # (U,) probability of that label
    filter: Tensor  # (U,) the filter's largest probability among the seeds that were shifted here


@dataclass(frozen=True, slots=True)
class Located:
    """N seeds that passed the filter, before and after the regressor; several may be shifted to the same span."""

    seeds: Spans
    shifted: Spans
    filter: Tensor  # (N,) probability of being close to an entity


class Head(base.Head):
    Config = Config
    CallOptions = LocateLabelOptions
    decode = staticmethod(decode)

    def __init__(self, config: HeadConfig, labels: Sequence[str], encoder: Encoder) -> None:
        super().__init__(config, labels, encoder)
        assert isinstance(config, Config)
        self.settings = config
        widths = (encoder.width, encoder.piece_width)
        self.filter = SpanNetwork(config, *widths, outputs=1, outer=False) if config.filter else None
        self.regressor = SpanNetwork(config, *widths, outputs=2, outer=True) if config.regressor else None
        self.classifier = SpanNetwork(config, *widths, outputs=len(labels) + 1, outer=False)  # class 0: no entity
        self.span_classifier = span_classifier_of(
            config.span_classifier, encoder.width, len(labels), read_by=self.classifier.output
        )
        if self.regressor is not None:  # seeds hardly shift at first, so the classifier sees gold spans from the start
            nn.init.normal_(self.regressor.output.weight, std=1e-3)
            nn.init.zeros_(self.regressor.output.bias)

    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        config, entities = self.settings, Entities.of(gold.host)
        targets = Targets.of(states, self._sampled(states, entities, draw), entities, config.positive_iou)
        reader, seeds, positive = SpanReader.of(states), targets.seeds, targets.positive
        parts: dict[str, LossPart] = {}
        if self.filter is not None:
            loss = self._weights(targets.iou, positive) * focal_loss(self.filter(reader, seeds)[:, 0], positive)  # (Q,)
            # Where some label is not annotated, a seed that touches no known entity may still be one: it does not count.
            counted = (targets.iou > 0) | gold.annotated.all(1)[seeds.sentence]  # (Q,)
            parts["filter"] = _mean(loss, counted)
        shifted = seeds
        if self.regressor is not None:
            offsets = self.regressor(reader, seeds)  # (Q, 2)
            parts["regressor"] = _mean(regressor_loss(offsets, targets), positive, REGRESSOR_WEIGHT)
            shifted = shift(seeds, offsets.detach(), reader.last_word)
        label, iou = targets.labels_at(shifted, config.label_iou)  # (Q,) each
        unknown = functional.pad(~gold.annotated, (1, 0))[shifted.sentence]  # (Q, 1 + C)
        logits = self._label_logits(reader, shifted).masked_fill(unknown, -1e4)  # (Q, 1 + C)
        loss = self._weights(iou, label > 0) * functional.cross_entropy(logits, label, reduction="none")  # equation 16
        parts["classifier"] = _mean(loss, torch.ones_like(positive))
        return {**parts, **span_losses(self.span_classifier, config.span_classifier, states, gold)}

    def _sampled(self, states: States, entities: Entities, draw: Draw) -> Seeds:
        config = self.settings
        sampling = Sampling(config.seed_lengths(all_lengths=False), config.positive_iou, config.negatives)
        most = max(states.lengths) * config.longest
        return sample_seeds(states.lengths, entities, sampling, draw.uniform("negatives", states.content_keys, most))

    def _weights(self, iou: Tensor, positive: Tensor) -> Tensor:
        return soft_weights(iou, positive) if self.settings.soft_examples else torch.ones_like(iou)

    def propose(self, states: States, decoding: Decoding, draw: Draw) -> LabelledSpans:
        reader = SpanReader.of(states)
        located = self.locate(reader, decoding)
        words, shifted = states.words.shape[1], located.shifted
        key = (shifted.sentence * words + shifted.first) * words + shifted.last  # (N,)
        key, number = torch.unique(key, return_inverse=True)  # (U,) (N,): each span is classified once
        passed = torch.zeros(len(key), device=key.device).scatter_reduce(0, number, located.filter, "amax")  # (U,)
        spans = Spans(key // (words * words), key // words % words, key % words)
        score, label = self._label_logits(reader, spans).softmax(-1).max(-1)  # (U,) each
        assert isinstance(decoding.options, LocateLabelOptions)
        if self.span_classifier is not None and (share := decoding.options.score_share):
            read, ends = self.span_classifier.read(states.words), (spans.first, spans.last)
            probabilities = self.span_classifier.probabilities(read, Boundaries(spans.sentence, *ends, *ends))  # (U, C)
            score = rescored(score, probabilities.gather(1, (label - 1).clamp(min=0)[:, None])[:, 0], share)
        return LabelledSpans(torch.stack([spans.sentence, label - 1, spans.first, spans.last], dim=1), score, passed)

    def locate(self, reader: SpanReader, decoding: Decoding) -> Located:
        """The first stage: the seeds that pass the filter, and where the regressor shifts them."""
        assert isinstance(decoding.options, LocateLabelOptions)
        states, lengths = reader.states, self.settings.seed_lengths(decoding.options.all_lengths)
        kept = enumerate_seeds(reader.last_word + 1, states.words.shape[1], lengths)  # (B, L, M)
        probability = torch.ones(kept.shape, device=kept.device)
        if self.filter is not None:
            probability = self.filter.all_spans(states.words, states.cls, kept.shape[1])[..., 0].sigmoid()  # (B, L, M)
            kept = kept & (probability >= decoding.thresholds["filter"])
        sentence, length, first = kept.nonzero().unbind(1)  # (N,) each
        seeds = Spans(sentence, first, first + length)
        shifted = seeds if self.regressor is None else shift(seeds, self.regressor(reader, seeds), reader.last_word)
        return Located(seeds, shifted, probability[sentence, length, first])

    def _label_logits(self, reader: SpanReader, spans: Spans) -> Tensor:
        """Of no entity and of each label: (N, 1 + C)."""
        logits: Tensor = self.classifier(reader, spans)
        if self.span_classifier is None or not self.settings.span_classifier.read_by_labels:
            return logits
        return logits + self.span_classifier.logits(self.span_classifier.read(reader.states.words), spans)


def _mean(loss: Tensor, counted: Tensor, weight: float = 1.0) -> LossPart:
    """The mean of the examples that count."""
    return LossPart(torch.where(counted, loss, 0.0).sum(), counted.sum(), weight)
