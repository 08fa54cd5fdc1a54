"""Denoises noisy spans into entities: in training from noised gold, in prediction from pure noise in a few steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from anyner.architectures import base
from anyner.architectures.base import Losses, LossPart, Step
from anyner.architectures.diffusion_ner import targets
from anyner.architectures.diffusion_ner.config import VOTES_AGAINST, Config, DiffusionOptions
from anyner.architectures.diffusion_ner.decode import decode
from anyner.architectures.diffusion_ner.network import Denoiser, Pointed, Predictions, Sentence
from anyner.architectures.diffusion_ner.schedule import schedule_of, step_pairs
from anyner.architectures.diffusion_ner.segments import Segments
from anyner.architectures.diffusion_ner.spans import ddim_step, to_spans, to_states
from anyner.architectures.draw import Draw, normals
from anyner.architectures.settings import Decoding, HeadConfig, least_before_rescoring, least_span_score
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
from anyner.layers.span_classifier import ReadWords
from anyner.layers.spanpool import Spans


class Head(base.Head):
    Config = Config
    CallOptions = DiffusionOptions
    decode = staticmethod(decode)

    def __init__(self, config: HeadConfig, labels: Sequence[str], encoder: Encoder) -> None:
        super().__init__(config, labels, encoder)
        assert isinstance(config, Config)
        self.settings = config
        self.alpha_bar = schedule_of(config.schedule, config.diffusion_steps)
        kinds = config.kinds(len(labels))
        self.denoiser = Denoiser(config, encoder.width, kinds + 1)
        self.span_classifier = span_classifier_of(config.span_classifier, encoder.width, kinds, read_by=self.denoiser.types)
        self.fragment_pairs = fragment_pairs_of(config, encoder.width, len(labels))

    def loss(self, states: States, gold: Gold, draw: Draw) -> Losses:
        gold, pairs = in_spans(self.fragment_pairs, states, gold)
        config, windows, segments = self.settings, states, self.segments(states)
        states = targets.segment_states(segments, windows)
        rows = targets.segment_entities(segments, Entities.of(gold.host)).rows(len(segments.window))
        noisy = targets.noised(rows, states, config, self.alpha_bar, draw)
        first, last = states.placed(np.stack([noisy.first, noisy.last]))  # (B, K) each
        sentence, entities = self.denoiser.read(states), targets.on_device(rows, states)
        pointed = self.denoiser.pointed(sentence, first, last, self.denoiser.time(states.placed(noisy.step)))
        predictions = self.typed(sentence, pointed, self._read(states))
        by_input = config.matching == "inputs"
        assigned = targets.by_inputs(rows, noisy) if by_input else targets.by_predictions(predictions, rows, entities, config)
        entity = states.placed(assigned)  # (B, K)
        matched = entity != targets.NOTHING
        own = entities.gather(2, entity.clamp(min=0).expand(4, -1, -1))  # (4, B, K) first word, last word, label
        label = targets.labels_pointed_at(predictions, entities) if by_input else torch.where(matched, own[2] + 1, 0)
        window = states.placed(np.repeat(segments.window, config.spans))  # (B * K,)
        logits = gold.known(predictions.types.flatten(0, 1), window)  # (B * K, 1 + C)
        types = functional.cross_entropy(logits, label.flatten(), reduction="sum")
        return {
            "boundary": LossPart.mean(_boundary_loss(predictions, own[:2], states), matched),
            "type": LossPart(types, types.new_full((), label.numel())),
            **pairs,
            **span_losses(self.span_classifier, config.span_classifier, windows, gold),
        }

    def segments(self, states: States) -> Segments:
        """The segments that a batch of windows is denoised in; they are the B rows of later tensors."""
        return Segments.of(states.lengths, self.settings.segment_words or max(states.lengths))

    def _read(self, states: States) -> ReadWords | None:
        return self.span_classifier.read(states.words) if self.span_classifier is not None else None

    def typed(self, sentence: Sentence, pointed: Pointed, read: ReadWords | None) -> Predictions:
        """The denoiser's predictions, with the span classifier's logits of the predicted spans added to the types."""
        predictions = self.denoiser.typed(sentence, pointed)
        if self.span_classifier is None or read is None or not self.settings.span_classifier.read_by_labels:
            return predictions
        logits = self.span_classifier.logits(read, Spans.of_rows(predictions.left.argmax(2), predictions.right.argmax(2)))
        return replace(predictions, types=predictions.types + logits.view_as(predictions.types))

    def propose(self, states: States, decoding: Decoding, draw: Draw) -> SpanProposals:
        options, segments = decoding.options, self.segments(states)
        assert isinstance(options, DiffusionOptions)
        windows, states = states, targets.segment_states(segments, states)
        sentence, read = self.denoiser.read(states), self._read(states)
        share = options.score_share if read is not None and self.settings.span_classifier.loss_weight else 0.0
        # a mean over samples needs weak proposals, too
        least = least_before_rescoring(least_span_score(decoding.thresholds), share) if options.samples == 1 else 0.0
        places, scores = [], []
        for sample in range(options.samples):
            denoised = self.denoise(states, sentence, options, draw, sample)
            steps = [pointed for *_, pointed in islice(denoised, options.after_step)]
            pointed = _side_by_side(steps) if options.voting else steps[-1]
            predictions = self.typed(sentence, pointed, read)
            place, score = voted(predictions, len(decoding.labels), least) if options.voting else best(predictions, least)
            if self.span_classifier is not None and read is not None and share:
                score = self.span_classifier.rescore(read, place, score, share)
            place, own = targets.in_windows(segments, states, place)
            places.append(place[own])
            scores.append(score[own])
        return SpanProposals.of(self.fragment_pairs, windows, torch.cat(places), torch.cat(scores))

    def read(self, states: States) -> Mapping[str, Tensor]:
        return {"words": states.words, **span_tables(self, states)}

    def steps(self) -> Mapping[str, Step]:
        return {**self.denoiser.steps(), **pair_steps(self.fragment_pairs)}

    def denoise(
        self, states: States, sentence: Sentence, options: DiffusionOptions, draw: Draw, sample: int = 0
    ) -> Iterator[tuple[int, Tensor, Tensor, Pointed]]:
        """From noise to entities (Algorithm 2): yields each step, its input spans (B, K), and the boundaries it predicts."""
        words, pairs = states.word_mask.sum(1)[:, None], step_pairs(len(self.alpha_bar), options.steps)  # (B, 1)
        places = states.placed(draw.normal_places(f"sample {sample}", states.content_keys))  # (B, 2)
        drawn = normals_at(places, len(pairs) * options.spans * 2)
        state, *noise = drawn.view(-1, len(pairs), options.spans, 2).unbind(1)  # (B, K, 2) each
        times = self.denoiser.time(states.placed(np.array([here for here, _ in pairs])))  # (steps, w)
        for number, (here, there) in enumerate(pairs):
            first, last = to_spans(state, words)
            pointed = self.denoiser.pointed(sentence, first, last, times[number : number + 1])
            yield here, first, last, pointed
            if there >= 0:
                left, right = pointed.left.argmax(2), pointed.right.argmax(2)
                clean = to_states(left, torch.maximum(left, right), words)
                state = ddim_step(state, clean, float(self.alpha_bar[here]), float(self.alpha_bar[there]), noise[number])


@cache
def _normals_on(device: torch.device) -> Tensor:
    return torch.from_numpy(normals()).to(device)


def normals_at(places: Tensor, size: int) -> Tensor:
    """The numbers of `Draw.normal`, read on the device: (B, size)."""
    table = _normals_on(places.device)
    first, stride = places[:, :1], places[:, 1:]  # (B, 1) each
    return table[first + stride * torch.arange(size, device=places.device) & len(table) - 1]


def _boundary_loss(predictions: Predictions, ends: Tensor, states: States) -> Tensor:
    """Binary cross-entropy of first and last words (2, B, K), summed over both and all words: (B, K)."""
    logits = torch.stack([predictions.left, predictions.right])  # (2, B, K, M)
    one_hot = functional.one_hot(ends, logits.shape[3]).to(logits.dtype)  # (2, B, K, M)
    loss = functional.binary_cross_entropy_with_logits(logits, one_hot, reduction="none")
    return (loss * states.word_mask[:, None]).sum(3).sum(0)


def _side_by_side(steps: Sequence[Pointed]) -> Pointed:
    """The predictions of several steps, concatenated along the spans."""
    parts = zip(*((step.spans, step.left, step.right) for step in steps), strict=True)
    return Pointed(*(torch.cat(part, dim=1) for part in parts))


def voted(predictions: Predictions, labels: int, least: float) -> tuple[Tensor, Tensor]:
    """Merges the predictions of a span into one proposal: (P, 4) sentence, label, first, last; and scores (P,) >= `least`.

    A prediction's vote is the probability of its boundaries, divided among the labels by their probabilities. A label's score is
    its share of all votes. Fragments, the kinds beyond the labels, have proposals of their own.
    """
    span, left, right, types = _flat(predictions)
    weight = (left * right)[:, None]
    votes = torch.cat([weight, weight * types[:, 1:]], dim=1)  # (N, 1 + C) all, then by label
    span, order = span.sort(stable=True)
    span, counts = torch.unique_consecutive(span, return_counts=True)  # (U,) each
    totals = torch.segment_reduce(votes[order].double(), "sum", lengths=counts, unsafe=True)  # (U, 1 + C)
    shares = torch.where(totals[:, :1] > 0, totals[:, 1:] / (totals[:, :1] + VOTES_AGAINST), -1.0)  # (U, kinds)
    score, label = shares[:, :labels].max(1)  # (U,) each
    kept = (score >= least).nonzero()[:, 0]  # (P,)
    label, score = label[kept], score[kept]
    if shares.shape[1] > labels:
        which, kind, own = best_fragments(shares, labels, least)  # (F,) each
        kept, label, score = torch.cat([kept, which]), torch.cat([label, kind]), torch.cat([score, own])
    return _places(span[kept], label, predictions), score.float()


def best(predictions: Predictions, least: float) -> tuple[Tensor, Tensor]:
    """The best prediction of each span, as `voted` returns them; the score is the mean of the three probabilities (paper)."""
    span, left, right, types = _flat(predictions)
    probability, label = types.max(1)
    score = torch.where((label > 0) & (left > 0), (left + right + probability) / 3, -1.0)
    score, by_score = score.sort(descending=True, stable=True)
    span, order = span[by_score].sort(stable=True)
    score, label = score[order], label[by_score[order]] - 1
    first_of_span = functional.pad(span[1:] != span[:-1], (1, 0), value=True)
    kept = (first_of_span & (score >= max(least, 0.0))).nonzero()[:, 0]  # (P,)
    return _places(span[kept], label[kept], predictions), score[kept]


def _flat(predictions: Predictions) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of N = B K predictions: the span as one number, the probabilities of its boundaries (0 if last < first) and its types."""
    (left, first), (right, last) = predictions.left.max(2), predictions.right.max(2)  # (B, K) each
    sentence, words = torch.arange(len(first), device=first.device)[:, None], predictions.left.shape[2]
    span = (sentence * words + first) * words + last
    left = torch.where(first <= last, left.sigmoid(), 0.0)
    return span.flatten(), left.flatten(), right.sigmoid().flatten(), predictions.types.flatten(0, 1).softmax(-1)


def _places(span: Tensor, label: Tensor, predictions: Predictions) -> Tensor:
    """(P, 4): sentence, label, first and last word."""
    words = predictions.left.shape[2]
    return torch.stack([span // words**2, label, span // words % words, span % words], dim=1)
