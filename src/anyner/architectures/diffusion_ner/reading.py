"""From what many spans answered to proposals: dozens of them, in all steps, point at the same words."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from anyner.architectures.diffusion_ner.denoiser import Answers

VOTES_FOR_NOTHING = 1.0
"""So much is against every span before any answer: one answer alone, however sure, is not as good as many that agree."""


def voted(answers: Answers, least: float) -> tuple[Tensor, Tensor]:
    """What all answers for a span say together: (P, 4) sentence, first, last, label, and their scores (P,), at least `least`.

    An answer votes with the probability of its boundaries for the types as it believes in them; a label's score is its share of
    all votes.
    """
    (left, first), (right, last) = answers.left.max(2), answers.right.max(2)  # (B, K) each
    weight = torch.where(first <= last, left.sigmoid() * right.sigmoid(), 0.0)  # (B, K)
    votes = torch.cat([weight[..., None], weight[..., None] * answers.types.softmax(-1)[..., 1:]], dim=2)  # all, then by label
    words = answers.left.shape[2]
    span, order = (first * words + last).sort(dim=1, stable=True)  # (B, K) each
    totals = sums_of_runs(span, votes.transpose(1, 2).gather(2, order[:, None].expand(-1, votes.shape[2], -1)))  # (B, 1 + C, K)
    score, label = (totals[:, 1:] / (totals[:, :1] + VOTES_FOR_NOTHING)).max(1)  # (B, K) each
    sentence, place = ((totals[:, 0] > 0) & (score >= least)).nonzero().unbind(1)  # (P,) each
    span = span[sentence, place]
    return torch.stack([sentence, span // words, span % words, label[sentence, place]], dim=1), score[sentence, place].float()


def sums_of_runs(sorted_keys: Tensor, values: Tensor) -> Tensor:
    """Where a run of equal keys (B, K) begins, the sum of its values (B, c, K); 0 elsewhere.

    By differences of a running sum: adding up by index has no fixed order on a GPU. Double precision, so that what stands before
    a run does not change the sum as it is read. Along rows: a GPU walks down one long column number by number.
    """
    count = sorted_keys.shape[1]
    begins = functional.pad(sorted_keys[:, 1:] != sorted_keys[:, :-1], (1, 0), value=True)  # (B, K)
    running = functional.pad(values.double().cumsum(2), (1, 0))  # (B, c, K + 1)
    number = torch.arange(count, device=sorted_keys.device)
    # the first beginning at or behind each place, found backwards; a run stops where the next begins
    next_begin = torch.where(begins, number, count).flip(1).cummin(1).values.flip(1)  # (B, K)
    stop = functional.pad(next_begin[:, 1:], (0, 1), value=count)  # (B, K)
    sums = running.gather(2, stop[:, None].expand_as(values)) - running[..., :-1]
    return torch.where(begins[:, None], sums, 0.0)


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
