"""Boundary diffusion without torch: noise, denoising steps and votes. numpy only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from anyner.architectures import numpy_head
from anyner.architectures.decode import HostProposals
from anyner.architectures.diffusion_ner.config import VOTES_AGAINST, Config, DiffusionOptions
from anyner.architectures.diffusion_ner.decode import decode
from anyner.architectures.diffusion_ner.schedule import ddim_weights, schedule_of, step_pairs, to_spans, to_states
from anyner.architectures.diffusion_ner.segments import Segments
from anyner.architectures.draw import Draw, Floats
from anyner.architectures.numpy_head import Array, Arrays
from anyner.architectures.numpy_spans import Integers, SpanClassifier, best_fragments, sigmoid, softmax
from anyner.architectures.settings import Decoding, least_before_rescoring, least_span_score
from anyner.encoding.arrays import BatchArrays

Flat = tuple[Integers, Floats, Floats, Floats]


@dataclass(frozen=True, slots=True)
class _Batch:
    """R segments of a batch."""

    segments: Segments
    content_keys: tuple[int, ...]  # (R,)
    inside: Array  # (R, T) bool
    sentence: Arrays
    """The denoiser's inputs that depend on the words alone, by name."""


class NumpyHead(numpy_head.NumpyHead):
    CallOptions = DiffusionOptions
    decode = staticmethod(decode)

    def propose(self, batch: BatchArrays, read: Arrays, decoding: Decoding, draw: Draw) -> HostProposals:
        options, config = decoding.options, self.config
        assert isinstance(options, DiffusionOptions) and isinstance(config, Config)
        own, classifier = self._segments(batch, read, config), self.span_classifier(read)
        share = options.score_share if classifier is not None and config.span_classifier.loss_weight else 0.0
        # a mean over samples needs weak proposals, too
        least = least_before_rescoring(least_span_score(decoding.thresholds), share) if options.samples == 1 else 0.0
        places, scores = [], []
        for sample in range(options.samples):
            steps = list(islice(self._denoised(own, options, draw, sample, config), options.after_step))
            joined = {name: np.concatenate([step[name] for step in steps], axis=1) for name in ("spans", "left", "right")}
            pointed = joined if options.voting else steps[-1]
            first, last = pointed["left"].argmax(2), pointed["right"].argmax(2)  # (R, K) each
            types = self.run("type", {**own.sentence, **pointed})["types"]  # (R, K, 1 + kinds)
            if classifier is not None and config.span_classifier.read_by_labels:
                types = types + _in_windows(classifier, own.segments, first, last).reshape(types.shape)
            flat = _flat(pointed["left"], pointed["right"], first, last, types)
            span, label, score = voted(flat, len(decoding.labels), least) if options.voting else best(flat, least)
            words = own.inside.shape[1]
            place = np.column_stack([span // words**2, label, span // words % words, span % words])
            place, core = own.segments.in_windows(place)
            if classifier is not None and share:
                score = classifier.rescore(place, score, share)
            places.append(place[core])
            scores.append(score[core])
        return self.span_proposals(read, np.concatenate(places), np.concatenate(scores))

    def _segments(self, batch: BatchArrays, read: Arrays, config: Config) -> _Batch:
        lengths = tuple(batch.lengths.tolist())
        segments = Segments.of(lengths, config.segment_words or max(lengths))
        inside, places = segments.places()  # (R, T) each
        words = np.where(inside[..., None], read["words"][segments.window[:, None], places], np.float32(0))  # (R, T, d)
        windows = batch.windows if len(segments.window) == len(lengths) else segments.windows(batch.windows)
        keys = tuple(window.content_key for window in windows)
        return _Batch(segments, keys, inside, {"mask": inside, **self.run("sentence", {"words": words})})

    def _denoised(
        self, own: _Batch, options: DiffusionOptions, draw: Draw, sample: int, config: Config
    ) -> Iterator[dict[str, Array]]:
        """From noise to entities (Algorithm 2): yields the boundaries that each step predicts."""
        alpha_bar = schedule_of(config.schedule, config.diffusion_steps)
        pairs, words = step_pairs(len(alpha_bar), options.steps), own.segments.length[:, None]  # (R, 1)
        drawn = draw.normal(f"sample {sample}", own.content_keys, len(pairs) * options.spans * 2)
        noise = drawn.reshape(-1, len(pairs), options.spans, 2)  # (R, steps, K, 2)
        state = noise[:, 0]  # (R, K, 2)
        for number, (here, there) in enumerate(pairs):
            first, last = to_spans(state, words)
            pointed = self.run("point", {**own.sentence, "first_word": first, "last_word": last, "step": np.array([here])})
            yield pointed
            if there >= 0:
                left, right = pointed["left"].argmax(2), pointed["right"].argmax(2)  # (R, K) each
                clean = to_states(left, np.maximum(left, right), words)
                of_clean, of_noisy, of_noise = ddim_weights(float(alpha_bar[here]), float(alpha_bar[there]))
                state = clean * of_clean + state * of_noisy + noise[:, number + 1] * of_noise


def _in_windows(classifier: SpanClassifier, segments: Segments, first: Integers, last: Integers) -> Array:
    """The span classifier's logits of spans (R, K) of segments: (R * K, classes); meaningless where last < first."""
    start, window = segments.start[:, None], np.broadcast_to(segments.window[:, None], first.shape)
    return classifier.logits(window.ravel(), (first + start).ravel(), (last + start).ravel())


def _flat(left: Floats, right: Floats, first: Integers, last: Integers, types: Floats) -> Flat:
    """Of N = R K predictions: the span as one number, the probabilities of its boundaries (0 if last < first) and its types."""
    words, segment = left.shape[2], np.arange(len(first))[:, None]
    span = (segment * words + first) * words + last
    of_left = np.where(first <= last, sigmoid(left.max(2)), np.float32(0))
    return span.ravel(), of_left.ravel(), sigmoid(right.max(2)).ravel(), softmax(types, 2).reshape(span.size, -1)


def voted(flat: Flat, labels: int, least: float) -> tuple[Integers, Integers, Floats]:
    """Merges the predictions of a span into one proposal, as in the torch head: spans, labels, scores (P,) >= `least`."""
    span, left, right, types = flat
    weight = (left * right)[:, None]
    votes = np.concatenate([weight, weight * types[:, 1:]], axis=1)  # (N, 1 + C) all, then by label
    order = np.argsort(span, kind="stable")
    span, starts = np.unique(span[order], return_index=True)  # (U,) each
    totals = np.add.reduceat(votes[order].astype(np.float64), starts, axis=0)  # (U, 1 + C)
    some = totals[:, :1] > 0
    shares = np.where(some, totals[:, 1:] / (totals[:, :1] + VOTES_AGAINST), -1.0)  # (U, kinds)
    score, label = shares[:, :labels].max(1), shares[:, :labels].argmax(1)  # (U,) each
    kept = np.flatnonzero(score >= least)  # (P,)
    label, score = label[kept], score[kept]
    if shares.shape[1] > labels:
        which, kind, own = best_fragments(shares, labels, least)  # (F,) each
        kept, label, score = np.concatenate([kept, which]), np.concatenate([label, kind]), np.concatenate([score, own])
    return span[kept], label, score.astype(np.float32)


def best(flat: Flat, least: float) -> tuple[Integers, Integers, Floats]:
    """The best prediction of each span, as `voted` returns them; the score is the mean of the three probabilities (paper)."""
    span, left, right, types = flat
    label = types.argmax(1)
    score = np.where((label > 0) & (left > 0), (left + right + types.max(1)) / 3, np.float32(-1))
    order = np.lexsort((-score, span))  # both stable
    span, first = np.unique(span[order], return_index=True)
    score, label = score[order][first], label[order][first] - 1
    kept = score >= max(least, 0.0)
    return span[kept], label[kept], score[kept]
