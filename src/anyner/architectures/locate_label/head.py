"""Two stages: locate spans that are close to an entity and move their boundaries, then label what they have become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.architectures import base
from anyner.architectures.base import Losses, LossPart
from anyner.architectures.draw import Draw
from anyner.architectures.locate_label import losses
from anyner.architectures.locate_label.config import Config, LocateLabelOptions
from anyner.architectures.locate_label.decode import decode
from anyner.architectures.locate_label.network import SpanNetwork, SpanReader
from anyner.architectures.locate_label.seeds import Rule, Seeds, enumerated, sampled
from anyner.architectures.locate_label.targets import Targets, shifted
from anyner.architectures.settings import Decoding, HeadConfig
from anyner.encoding.encoder import Encoder, States
from anyner.encoding.gold import Gold
from anyner.layers.boundary_pairs import BoundaryPairs
from anyner.layers.contiguous import Entities
from anyner.layers.everywhere import expecting_nothing, loss_everywhere
from anyner.layers.spanpool import Spans

LARGEST = 2**27
"""Numbers that one tensor of prediction may hold."""


@dataclass(frozen=True, slots=True)
class LabelledSpans(base.Proposals):
    """U different spans that the first stage arrived at."""

    place: Tensor  # (U, 4) sentence, label, first word, last word (inclusive); label -1: no entity
    score: Tensor  # (U,) probability of that label
    filter: Tensor  # (U,) the largest probability of the seeds that became it


@dataclass(frozen=True, slots=True)
class Located:
    """N seeds that passed the filter and what the regressor made of them; several may have become the same span."""

    seeds: Spans
    moved: Spans
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
        self.classifier = SpanNetwork(config, *widths, outputs=len(labels) + 1, outer=False)  # 0: no entity
        self.pairs = (
            BoundaryPairs(encoder.width, config.pairs, len(labels) + 1, dropout=config.pairs_dropout) if config.pairs else None
        )
        if self.pairs is not None and config.everywhere_weight:
            expecting_nothing(self.pairs, beside=self.classifier.output)
        if self.regressor is not None:  # seeds stay where they are at first (but for sigmoid offsets): the classifier meets gold
            nn.init.normal_(self.regressor.output.weight, std=1e-3)
            nn.init.zeros_(self.regressor.output.bias)

    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        config, entities = self.settings, Entities.of(gold.host)
        seeds = self._sampled(states, entities, draw)
        targets = Targets.of(states, seeds, entities, config.positive_iou)
        reader = SpanReader.of(states)
        parts: dict[str, LossPart] = {}
        if self.filter is not None:
            loss = losses.binary_focal(self.filter(reader, targets.seeds)[:, 0], targets.positive, config.focus)
            weight = self._weights(targets.iou, targets.positive)
            # where some label was not annotated, only what misses a known entity is known not to be one
            counted = (targets.iou > 0) | gold.annotated.all(1)[targets.seeds.sentence]  # (Q,)
            parts["filter"] = self._part(loss, weight, counted, config.filter_weight)
        moved = targets.seeds
        if self.regressor is not None:
            offsets = self._offsets(reader, targets.seeds)  # (Q, 2)
            parts["regressor"] = self._moving(offsets, targets)
            moved = shifted(targets.seeds, offsets.detach(), reader.last_word)
        label, iou = targets.labels_at(moved, config.label_iou)  # (Q,) each
        logits = self._types(reader, moved)  # (Q, 1 + C)
        unknown = functional.pad(~gold.annotated, (1, 0))[moved.sentence]  # (Q, 1 + C)
        focus = config.focus if config.loss_compat or config.classifier_loss == "focal" else 0.0
        loss = losses.class_focal(logits.masked_fill(unknown, -1e4), label, focus)
        everything = torch.ones_like(targets.positive)
        parts["classifier"] = self._part(loss, self._weights(iou, label > 0), everything, config.classifier_weight)
        if self.pairs is not None and config.everywhere_weight:
            everywhere = loss_everywhere(self.pairs(states.words), states.word_mask, gold)
            parts["everywhere"] = LossPart(everywhere, states.word_mask.sum(), config.everywhere_weight)
        return parts

    def _sampled(self, states: States, entities: Entities, draw: Draw) -> Seeds:
        config = self.settings
        rule = Rule(config.seed_lengths(all_lengths=False), config.positive_iou, config.negatives, config.spare_negatives)
        most = max(states.lengths) * config.longest
        return sampled(states.lengths, entities, rule, draw.uniform("negatives", states.content_keys, most))

    def _weights(self, iou: Tensor, positive: Tensor) -> Tensor:
        return losses.soft_weights(iou, positive, self.settings.softness) if self.settings.soft_examples else torch.ones_like(iou)

    def _part(self, loss: Tensor, weight: Tensor, counted: Tensor, share: float) -> LossPart:
        """The weighted mean over the examples that count; `loss_compat`: their sum times the mean weight."""
        number = counted.sum()
        if self.settings.loss_compat:
            total = torch.where(counted, loss, 0.0).sum() * weight.mean()
            return LossPart(total, torch.ones_like(total), share)
        return LossPart(torch.where(counted, weight * loss, 0.0).sum(), number, share)

    def _moving(self, offsets: Tensor, targets: Targets) -> LossPart:
        """Equation 13, over the positive seeds."""
        move = losses.moving(offsets, targets.offsets)
        if self.settings.loss_compat:
            move = move * targets.iou
        first, end = targets.seeds.first.float(), targets.seeds.last.float() + 1
        wanted_first, wanted_end = first + targets.offsets[:, 0], end + targets.offsets[:, 1]
        loss = move + losses.overlapping(first + offsets[:, 0], end + offsets[:, 1], wanted_first, wanted_end)
        return LossPart(torch.where(targets.positive, loss, 0.0).sum(), targets.positive.sum(), self.settings.regressor_weight)

    def _offsets(self, reader: SpanReader, spans: Spans) -> Tensor:
        """How many words the first and the last word are to move: (N, 2)."""
        assert self.regressor is not None
        raw = self.regressor(reader, spans) if self.training else self._in_parts(self.regressor, reader, spans)
        if self.settings.offsets == "linear":
            return raw
        share = torch.tanh(raw) if self.settings.offsets == "tanh" else torch.sigmoid(raw)
        return share * (reader.last_word[spans.sentence] + 1)[:, None]

    def propose(self, states: States, decoding: Decoding, draw: Draw) -> LabelledSpans:
        reader = SpanReader.of(states)
        located = self.locate(reader, decoding)
        words, moved = states.words.shape[1], located.moved
        key, became = torch.unique((moved.sentence * words + moved.first) * words + moved.last, return_inverse=True)  # (U,) (N,)
        passed = torch.zeros(len(key), device=key.device).scatter_reduce(0, became, located.filter, "amax")  # (U,)
        spans = Spans(key // (words * words), key // words % words, key % words)
        score, label = self._types(reader, spans).softmax(-1).max(-1)  # (U,) each
        return LabelledSpans(torch.stack([spans.sentence, label - 1, spans.first, spans.last], dim=1), score, passed)

    def locate(self, reader: SpanReader, decoding: Decoding) -> Located:
        """The first stage: the seeds that pass the filter, moved."""
        assert isinstance(decoding.options, LocateLabelOptions)
        states, lengths = reader.states, self.settings.seed_lengths(decoding.options.all_lengths)
        passed = enumerated(reader.last_word + 1, states.words.shape[1], lengths)  # (B, L, M)
        probability = self._probabilities(states, passed)
        if self.filter is not None:
            passed = passed & (probability >= decoding.thresholds["filter"])
        sentence, length, first = passed.nonzero().unbind(1)  # (N,) each
        seeds = Spans(sentence, first, first + length)
        moved = shifted(seeds, self._offsets(reader, seeds), reader.last_word) if self.regressor is not None else seeds
        return Located(seeds, moved, probability[sentence, length, first])

    def _types(self, reader: SpanReader, spans: Spans) -> Tensor:
        """Logits of no entity and of each label: (N, 1 + C)."""
        logits = self.classifier(reader, spans) if self.training else self._in_parts(self.classifier, reader, spans)
        return logits if self.pairs is None else logits + self.pairs.at(self.pairs.as_boundaries(reader.states.words), spans)

    def _in_parts(self, network: SpanNetwork, reader: SpanReader, spans: Spans) -> Tensor:
        """The network's answers for any number of spans: an undecided filter lets all of them pass."""
        at_once = max(1, LARGEST // max(reader.states.words.shape[2], self.settings.width))
        return torch.cat([network(reader, part) for part in spans.split(at_once)])

    def _probabilities(self, states: States, enumerated_spans: Tensor) -> Tensor:
        """Of being close to an entity, for every seed; part of the batch at a time where it is large: (B, L, M)."""
        sentences, longest, words = enumerated_spans.shape
        if self.filter is None:
            return torch.ones(enumerated_spans.shape, device=enumerated_spans.device)
        at_once = max(1, LARGEST // (longest * words * max(states.words.shape[2], self.settings.width)))
        if at_once >= sentences:
            return self.filter.everywhere(states.words, states.cls, longest)[..., 0].sigmoid()
        rows = zip(torch.split(states.words, at_once), torch.split(states.cls, at_once), strict=True)
        return torch.cat([self.filter.everywhere(*part, longest)[..., 0].sigmoid() for part in rows])
