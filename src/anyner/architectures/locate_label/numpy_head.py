"""Locate and Label without torch: seeds, filter, shifts, labels. numpy only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anyner.architectures import numpy_head
from anyner.architectures.decode import HostProposals
from anyner.architectures.draw import Draw
from anyner.architectures.locate_label.config import Config, LocateLabelOptions
from anyner.architectures.locate_label.decode import decode
from anyner.architectures.numpy_head import Arrays, Run
from anyner.architectures.numpy_spans import Floats, Integers, SpanMaxima, best_fragments, sigmoid, softmax
from anyner.architectures.settings import Decoding, least_span_score
from anyner.encoding.arrays import BatchArrays

Spans = tuple[Integers, Integers, Integers]
"""Sentence, first and last word: (N,) each."""


class NumpyHead(numpy_head.NumpyHead):
    CallOptions = LocateLabelOptions
    decode = staticmethod(decode)

    def propose(self, batch: BatchArrays, read: Arrays, decoding: Decoding, draw: Draw) -> HostProposals:
        options, config, labels = decoding.options, self.config, len(decoding.labels)
        assert isinstance(options, LocateLabelOptions) and isinstance(config, Config)
        networks = _Networks(self.run, read, SpanMaxima(read["words"]), batch.lengths - 1)
        words, (shifted, probability) = batch.word_mask.shape[1], _located(networks, config, decoding)
        key, number = np.unique((shifted[0] * words + shifted[1]) * words + shifted[2], return_inverse=True)  # each span once
        passed = np.zeros(len(key), dtype=np.float32)
        np.maximum.at(passed, number.reshape(-1), probability)
        spans = key // (words * words), key // words % words, key % words
        classifier, logits = self.span_classifier(read), networks.of_spans("classifier", spans)
        if classifier is not None and config.span_classifier.read_by_labels:
            logits = logits + classifier.logits(*spans)
        classes = softmax(logits, 1)  # (U, 1 + kinds)
        known = classes[:, : 1 + labels]
        score, place = known.max(1), np.column_stack([spans[0], known.argmax(1) - 1, spans[1], spans[2]])
        if config.fragments:
            which, kind, own = best_fragments(classes[:, 1:], labels, least_span_score(decoding.thresholds))  # (F,) each
            fragments = np.column_stack([spans[0][which], kind, spans[1][which], spans[2][which]])  # (F, 4)
            place, score = np.concatenate([place, fragments]), np.concatenate([score, own])
            passed = np.concatenate([passed, passed[which]])
        if classifier is not None and (share := options.score_share):
            score = classifier.rescore(np.maximum(place, 0), score, share)
        return {**self.span_proposals(read, place, score), "filter": passed}


@dataclass(frozen=True, slots=True)
class _Networks:
    run: Run
    read: Arrays
    maxima: SpanMaxima
    last_word: Integers  # (B,)

    def of_spans(self, name: str, spans: Spans, *, outer: bool = False) -> Floats:
        """Outputs (N, …) of one of the networks; `outer`: it reads the words just outside the span."""
        sentence, first, last = spans
        maximum = self.maxima.of(*spans)
        if outer:  # at the edge of the sentence, its own first or last word is read
            first, last = np.maximum(first - 1, 0), np.minimum(last + 1, self.last_word[sentence])
        left, right = self.read[f"{name}_left"][sentence, first], self.read[f"{name}_right"][sentence, last]  # (N, h) each
        output: Floats = self.run(name, {"maximum": maximum, "left": left, "right": right})["output"]
        return output


def _located(networks: _Networks, config: Config, decoding: Decoding) -> tuple[Spans, Floats]:
    """The first stage: where the regressor shifts the seeds that pass the filter, and the filter's probability (N,)."""
    words, most = networks.last_word + 1, networks.read["words"].shape[1]
    longest = min(max(config.predicted_lengths), most)
    length = np.arange(1, longest + 1)[:, None]  # (L, 1)
    left = words[:, None, None] - np.arange(most)  # (B, 1, M) words from each word to the end
    listed = np.isin(length, config.predicted_lengths)
    sentence, shorter, first = np.nonzero((listed & (length <= left)) | (length == left))  # (N,) each
    seeds, probability = (sentence, first, first + shorter), np.ones(len(first), dtype=np.float32)
    if config.filter:
        probability = sigmoid(networks.of_spans("filter", seeds)[:, 0])  # (N,)
        passed = np.flatnonzero(probability >= decoding.thresholds["filter"])
        seeds, probability = (seeds[0][passed], seeds[1][passed], seeds[2][passed]), probability[passed]
    if not config.regressor or not len(probability):
        return seeds, probability
    return _shifted(seeds, networks.of_spans("regressor", seeds, outer=True), networks.last_word), probability


def _shifted(seeds: Spans, offsets: Floats, last_word: Integers) -> Spans:
    """Equations 6 and 7: offsets (N, 2) rounded, half up, within the sentence. A seed whose ends would cross stays as it is."""
    sentence, first, last = seeds
    words, end = np.floor(offsets + np.float32(0.5)).astype(np.int64), last_word[sentence]
    new_first, new_last = (np.clip(place + by, 0, end) for place, by in ((first, words[:, 0]), (last, words[:, 1])))
    crossed = new_first > new_last
    return sentence, np.where(crossed, first, new_first), np.where(crossed, last, new_last)
