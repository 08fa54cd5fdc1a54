"""Shared by heads whose proposals are labelled spans, and by all heads with a span classifier next to their own method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from anyner.architectures.base import Head, Losses, LossPart, Proposals, Step
from anyner.architectures.numpy_spans import fragment_pairs
from anyner.architectures.settings import (
    Decoding,
    ReadSpanClassifierConfig,
    RescoringSpanClassifierConfig,
    SpanClassifierConfig,
    SpanHeadConfig,
    least_span_score,
)
from anyner.encoding.encoder import States
from anyner.encoding.gold import Gold
from anyner.errors import AnynerError
from anyner.layers.fragments import FragmentPairs, with_fragments
from anyner.layers.span_classifier import RARE, SpanClassifier

PAIR_WIDTH, PAIR_DROPOUT = 128, 0.2
"""Width and dropout of the layer that scores pairs of fragments."""


@dataclass(frozen=True, slots=True)
class SpanProposals(Proposals):
    """P candidate spans."""

    place: Tensor  # (P, 4) sentence, label (+ C: a fragment of it), first word, last word (inclusive)
    score: Tensor  # (P,)
    pair: Tensor  # (R, 6) sentence, label, first and last words of two fragments
    pair_score: Tensor  # (R,)

    @classmethod
    def of(cls, pairs: FragmentPairs | None, states: States, place: Tensor, score: Tensor) -> SpanProposals:
        """The spans, with all pairs of fragments among them. Fragments are few, so they are paired on the host."""
        none = SpanProposals(place, score, place.new_zeros(0, 6), score.new_zeros(0))
        if pairs is None:
            return none
        found = fragment_pairs(place.cpu().numpy(), score.float().cpu().numpy(), pairs.labels)  # (R, 6)
        if not len(found):
            return none
        sentence, row = np.unique(found[:, 0], return_inverse=True)  # only sentences with a pair are read
        words = states.words.index_select(0, states.placed(sentence))
        pair = states.placed(found)
        logits = pairs(words, states.placed(np.column_stack([row, found[:, 2:]])))  # (R, C)
        return SpanProposals(place, score, pair, logits.gather(1, pair[:, 1:2])[:, 0].sigmoid())


def span_classifier_of(
    config: SpanClassifierConfig, word_width: int, labels: int, *, discontinuous: bool = False, read_by: nn.Linear | None = None
) -> SpanClassifier | None:
    """The span classifier of these settings. `read_by` is the output layer of the head's own label classifier, if it has one."""
    if not config.width:
        return None
    if read_by is not None and isinstance(config, ReadSpanClassifierConfig) and config.read_by_labels:
        nn.init.constant_(read_by.bias[:1], -RARE)  # cancels the span classifier's initial bias towards no entity
    fragments = isinstance(config, RescoringSpanClassifierConfig) and config.rescore_fragments
    kinds = {"discontinuous": discontinuous, "fragments": fragments}
    return SpanClassifier(word_width, config.width, labels, dropout=config.dropout, **kinds)


def propose_spans(head: Head, states: States, decoding: Decoding) -> SpanProposals:
    """Proposals of the head's span classifier alone."""
    classifier = head.span_classifier
    if classifier is None:
        raise AnynerError("options.span_classifier_alone: the model has no span classifier (head.span_classifier.width is 0)")
    read = classifier.read(states.words)
    found = classifier.entities(read, states.word_mask, least_span_score(decoding.thresholds))
    return SpanProposals.of(head.fragment_pairs, states, *found)


def best_fragments(probability: Tensor, labels: int, least: float) -> tuple[Tensor, Tensor, Tensor]:
    """Spans that may be fragments, from probabilities (N, 2 C) of C labels and C fragment classes: (F,) index, class and
    probability. A head with one label per span also gives it one fragment class: the score of the pair decides."""
    best, kind = probability[:, labels:].max(1)  # (N,) each
    which = (best >= least).nonzero()[:, 0]  # (F,)
    return which, kind[which] + labels, best[which]


def fragment_pairs_of(config: SpanHeadConfig, word_width: int, labels: int) -> FragmentPairs | None:
    return FragmentPairs(word_width, PAIR_WIDTH, labels, dropout=PAIR_DROPOUT) if config.fragments else None


def pair_steps(pairs: FragmentPairs | None) -> Mapping[str, Step]:
    """The step of an exported model that scores pairs of fragments."""
    if pairs is None:
        return {}
    examples = {"words": torch.zeros(2, 3, pairs.read.in_features), "pairs": torch.zeros(4, 5, dtype=torch.long)}
    logits = Step(lambda words, pairs_: {"logits": pairs(words, pairs_)}, examples, {"words": (0, 1), "pairs": (0,)})
    return {"pairs": logits}


def span_tables(head: Head, states: States) -> Mapping[str, Tensor]:
    """The span classifier's logits of all spans, for an exported model; empty without a span classifier."""
    classifier = head.span_classifier
    if classifier is None:
        return {}
    fragments = {"fragment_table": classifier.fragments(states.words)} if classifier.fragments is not None else {}
    return {"span_table": classifier.spans(states.words), **fragments}


def in_spans(pairs: FragmentPairs | None, states: States, gold: Gold) -> tuple[Gold, Losses]:
    """The gold spans that a head learns, with fragments if it joins them, and the loss of the pairs of fragments."""
    if pairs is None:
        return gold, {}
    return with_fragments(gold, states), {"pairs": LossPart(*pairs.loss(states, gold))}


def span_losses(classifier: SpanClassifier | None, config: SpanClassifierConfig, states: States, gold: Gold) -> Losses:
    """The dense span loss, if there is a span classifier and its loss has a weight."""
    if classifier is None or not config.loss_weight:
        return {}
    loss = classifier.loss(states.words, states.word_mask, gold)
    return {"spans": LossPart(loss, states.word_mask.sum(), config.loss_weight)}
