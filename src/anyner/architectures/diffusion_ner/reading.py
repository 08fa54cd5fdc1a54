"""From what many spans answered to proposals: dozens of them, in all steps, point at the same words."""

from __future__ import annotations

import torch
from torch import Tensor

from anyner.architectures.diffusion_ner.denoiser import Answers

VOTES_FOR_NOTHING = 1.0
"""So much is against every span before any answer: one answer alone, however sure, is not as good as many that agree."""


def voted(answers: Answers, least: float) -> tuple[Tensor, Tensor]:
    """What all answers for a span say together: (P, 4) sentence, first, last, label, and their scores (P,), at least `least`.

    An answer votes with the probability of its boundaries for the types as it believes in them; a label's score is its share of
    all votes.
    """
    left, first = answers.left.sigmoid().flatten(0, 1).max(1)  # (N,) each, N = B K
    right, last = answers.right.sigmoid().flatten(0, 1).max(1)
    weight = torch.where(first <= last, left * right, 0.0)  # (N,)
    types = answers.types.flatten(0, 1).softmax(-1)  # (N, 1 + C)
    sentences, spans, words = answers.left.shape
    sentence = torch.arange(sentences, device=first.device).repeat_interleave(spans)  # (N,)
    span, order = ((sentence * words + first) * words + last).sort(stable=True)
    votes = torch.cat([weight[:, None], weight[:, None] * types[:, 1:]], dim=1)[order]  # (N, 1 + C) all, then by label
    begins, totals = _sums_of_runs(span, votes)
    score, label = (totals[:, 1:] / (totals[:, :1] + VOTES_FOR_NOTHING)).max(1)  # (N,) each; right where a run begins
    kept = (begins & (score >= least) & (totals[:, 0] > 0)).nonzero()[:, 0]  # (P,)
    span, label = span[kept], label[kept]
    place = torch.stack([span // (words * words), span // words % words, span % words, label], dim=1)
    return place, score[kept].float()


def _sums_of_runs(sorted_keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Where runs of equal keys (N,) begin, and there the sums of their values (N, c); elsewhere the sums mean nothing.

    By differences of a running sum: adding up by index has no fixed order on a GPU. In double precision neither the order of
    the running sum nor what stands before a run changes the result as it is read.
    """
    count = len(sorted_keys)
    begins = torch.ones(count, dtype=torch.bool, device=sorted_keys.device)
    begins[1:] = sorted_keys[1:] != sorted_keys[:-1]
    running = torch.cat([values.new_zeros(1, values.shape[1], dtype=torch.float64), values.double().cumsum(0)])  # (N + 1, c)
    number = torch.arange(count, device=sorted_keys.device)
    # the first beginning at or behind each place, found backwards; a run stops where the next begins
    next_begin = torch.where(begins, number, count).flip(0).cummin(0).values.flip(0)  # (N,)
    stop = torch.cat([next_begin[1:], next_begin.new_full((1,), count)])  # (N,)
    return begins, running[stop] - running[:-1]


def best(answers: Answers, least: float) -> tuple[Tensor, Tensor]:
    """Of all answers for a span the best, as `voted` gives them; the score is the mean of the answer's three probabilities."""
    left, first = answers.left.sigmoid().max(2)  # (B, K) each
    right, last = answers.right.sigmoid().max(2)
    type_, label = answers.types.softmax(-1).max(2)
    score = (left + right + type_) / 3
    sentence, slot = ((label > 0) & (first <= last) & (score >= least)).nonzero().unbind(1)  # (P,) each
    chosen = (first[sentence, slot], last[sentence, slot], label[sentence, slot] - 1)
    place, score = torch.stack([sentence, *chosen], dim=1), score[sentence, slot]
    one_each = best_of_each((place[:, 0] * answers.left.shape[2] + place[:, 1]) * answers.left.shape[2] + place[:, 2], score)
    return place[one_each], score[one_each]


def best_of_each(span: Tensor, score: Tensor) -> Tensor:
    """Of each span's answers the best, of equal ones the first: their places."""
    by_score = score.argsort(descending=True, stable=True)  # (P,)
    sorted_span, order = span[by_score].sort(stable=True)
    begins = torch.ones_like(sorted_span, dtype=torch.bool)
    begins[1:] = sorted_span[1:] != sorted_span[:-1]
    return by_score[order[begins]]
