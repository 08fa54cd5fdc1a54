"""The biaffine span classifier: a label for every span from its first and last word.

`SpanScores` computes logits. `SpanClassifier` also learns from every span (dense span loss) and rescores a head's entities.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from anyner.encoding.gold import Gold, SoftLabels
from anyner.layers.spanpool import Spans

LARGEST = 2**27
"""Most elements of one tensor in prediction, unless a single sentence needs more."""
LENGTHS = 64
"""Spans of this many words or more share one learned length score."""
RARE = 6.0
"""Initial logit of "no entity": about one span in a hundred is an entity; learning that would waste the first steps."""
Tables = Iterator[tuple[int, Tensor]]
"""Values of all spans (b, C, M, M), a few sentences at a time, each with the index of its first sentence."""


class SpanScores(nn.Module):
    """Logits of every span for each of C classes: a biaffine form of its first and last word, and a score for its length."""

    def __init__(self, word_width: int, width: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.boundaries = nn.Linear(word_width, 2 * width)
        self.dropout = nn.Dropout(dropout)
        self.bilinear = nn.Parameter(torch.empty(classes, width, width))
        self.linear = nn.Linear(2 * width, classes)
        self.length = nn.Embedding(LENGTHS, classes)
        nn.init.normal_(self.bilinear, std=1 / width)
        nn.init.zeros_(self.length.weight)

    def forward(self, words: Tensor) -> Tensor:
        """Logits of words (B, M, d): (B, C, M, M), float32; meaningless where last < first."""
        return self.of_boundaries(self.as_boundaries(words))

    def as_boundaries(self, words: Tensor) -> Tensor:
        """Every word as the start and as the end of a span: (B, M, 2k)."""
        both: Tensor = self.dropout(functional.gelu(self.boundaries(words)))
        return both

    def of_boundaries(self, boundaries: Tensor) -> Tensor:
        start, end = boundaries.chunk(2, dim=-1)  # (B, M, k) each
        form = start[:, None] @ self.bilinear.to(start.dtype)  # (B, C, M, k)
        logits: Tensor = (form @ end[:, None].transpose(-1, -2)).float()  # (B, C, M, M)
        from_start, from_end = self.linear.weight.chunk(2, dim=1)  # (C, k) each
        logits += functional.linear(start, from_start, self.linear.bias).transpose(1, 2)[..., None]  # (B, C, M, 1)
        logits += functional.linear(end, from_end).transpose(1, 2)[:, :, None]  # (B, C, 1, M)
        word = torch.arange(logits.shape[-1], device=logits.device)
        distance = (word[None] - word[:, None]).clamp(0, self.length.num_embeddings - 1)  # (M, M)
        by_length: Tensor = self.length(distance).permute(2, 0, 1)  # (C, M, M)
        return logits + by_length

    def sentences_at_once(self, boundaries: Tensor) -> int:
        """How many sentences' tables fit into `LARGEST` elements."""
        _, words, width = boundaries.shape
        return max(1, LARGEST // (len(self.bilinear) * words * max(words, width // 2)))

    def tables(self, boundaries: Tensor) -> Tables:
        at_once = self.sentences_at_once(boundaries)
        for start in range(0, len(boundaries), at_once):
            yield start, self.of_boundaries(boundaries[start : start + at_once])


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Where N entities begin and end, and their first and last fragments; a contiguous one is its own first and last fragment."""

    sentence: Tensor  # (N,)
    first: Tensor  # (N,)
    first_end: Tensor  # (N,) the last word of the first fragment
    last_start: Tensor  # (N,) the first word of the last fragment
    last: Tensor  # (N,)

    @classmethod
    def of_words(cls, sentence: Tensor, words: Tensor, size: Tensor) -> Boundaries:
        """From ascending words (N, W), of which the first `size` (N,) count; a size of 0 is read as 1."""
        steps = words.shape[1] - 1
        first, last = words[:, 0], words.gather(1, (size - 1).clamp(min=0)[:, None])[:, 0]  # (N,) each
        if not steps:
            return cls(sentence, first, last, first, last)
        number = torch.arange(steps, device=words.device)
        jumps = (words[:, 1:] > words[:, :-1] + 1) & (number < size[:, None] - 1)  # (N, W - 1)
        before, after = jumps.int().argmax(1), steps - jumps.flip(1).int().argmax(1)  # of the first jump, behind the last
        found = jumps.any(1)
        first_end = torch.where(found, words.gather(1, before[:, None])[:, 0], last)
        last_start = torch.where(found, words.gather(1, after[:, None])[:, 0], first)
        return cls(sentence, first, first_end, last_start, last)

    @property
    def discontinuous(self) -> Tensor:
        return self.first_end != self.last  # (N,) bool

    @property
    def span(self) -> Spans:
        return Spans(self.sentence, self.first, self.last)


@dataclass(frozen=True, slots=True)
class ReadWords:
    """A batch's sentences as the span classifier reads them, computed once for all lookups."""

    words: Tensor  # (B, M, d)
    boundaries: Tensor  # (B, M, 2k)
    table: Tensor | None  # (B, classes, M, M) the logits of all spans; None: too many to keep


class SpanClassifier(nn.Module):
    """Classifies every span as one of C labels or none. Discontinuous entities, by first and last word, are C more classes."""

    def __init__(
        self, word_width: int, width: int, labels: int, *, dropout: float, discontinuous: bool = False, fragments: bool = False
    ) -> None:
        """`fragments`: the first and last fragments of discontinuous entities are classified as well."""
        super().__init__()
        self.labels, self.discontinuous = labels, discontinuous
        self.spans = SpanScores(word_width, width, 1 + labels * (2 if discontinuous else 1), dropout)
        self.fragments = SpanScores(word_width, width, 2, dropout) if fragments and discontinuous else None
        nn.init.constant_(self.spans.linear.bias[:1], RARE)
        if self.fragments is not None:
            nn.init.constant_(self.fragments.linear.bias, -RARE)

    def loss(self, words: Tensor, word_mask: Tensor, gold: Gold) -> Tensor:
        """The dense span loss, summed over all spans of the words (B, M, d)."""
        spans = real_spans(word_mask)
        loss = dense_span_loss(self.spans(words), spans, gold)
        return loss if self.fragments is None else loss + _fragment_loss(self.fragments(words), spans, gold)

    def read(self, words: Tensor) -> ReadWords:
        boundaries = self.spans.as_boundaries(words)
        small = len(words) <= self.spans.sentences_at_once(boundaries)
        return ReadWords(words, boundaries, self.spans.of_boundaries(boundaries) if small else None)

    def logits(self, read: ReadWords, spans: Spans) -> Tensor:
        """Logits (N, classes); class 0 is no entity."""
        if read.table is not None:
            return read.table[spans.sentence, :, spans.first, spans.last]
        logits = torch.empty(len(spans), len(self.spans.bilinear), device=read.words.device)
        for start, table in self._tables(read):
            own = ((spans.sentence >= start) & (spans.sentence < start + len(table))).nonzero()[:, 0]
            logits[own] = table[spans.sentence[own] - start, :, spans.first[own], spans.last[own]]
        return logits

    def probabilities(self, read: ReadWords, entities: Boundaries) -> Tensor:
        """Probability of each label for N entities: (N, C)."""
        classes = self.logits(read, entities.span).softmax(1)[:, 1:]  # (N, C), or (N, 2 C): contiguous, then discontinuous
        if not self.discontinuous:
            return classes
        split = entities.discontinuous[:, None]
        by_ends = torch.where(split, classes[:, self.labels :], classes[:, : self.labels])
        if self.fragments is None or not bool(split.any()):
            return by_ends
        logits = self.fragments(read.words)  # (B, 2, M, M)
        first = logits[entities.sentence, 0, entities.first, entities.first_end]  # (N,)
        last = logits[entities.sentence, 1, entities.last_start, entities.last]  # (N,)
        by_fragments = ((functional.logsigmoid(first) + functional.logsigmoid(last)) / 2).exp()[:, None]  # (N, 1)
        return torch.where(split, (by_ends * by_fragments).sqrt(), by_ends)

    def rescore(self, read: ReadWords, place: Tensor, score: Tensor, share: float) -> Tensor:
        """New scores (P,) of contiguous entities; `place` (P, 4) is their sentence, label, first and last word."""
        sentence, label, first, last = place.unbind(1)
        probability = self.probabilities(read, Boundaries(sentence, first, last, first, last))  # (P, C)
        return rescored(score, probability.gather(1, label[:, None])[:, 0], share)

    def farthest(self, read: ReadWords, word_mask: Tensor, least: float) -> tuple[Tensor, Tensor]:
        """Last word of the longest contiguous and of the longest discontinuous candidate from each word on: (B, M) each.

        A candidate has a probability of at least `least`; -1 where there is none.
        """
        last, spans = torch.arange(word_mask.shape[1], device=word_mask.device), real_spans(word_mask)
        found: tuple[list[Tensor], list[Tensor]] = ([], [])
        for start, table in self._tables(read):
            likely = table - table.logsumexp(1, keepdim=True) >= math.log(least)  # (b, classes, M, M)
            for ends, classes in zip(found, (slice(1, self.labels + 1), slice(self.labels + 1, None)), strict=True):
                inside = likely[:, classes].any(1) & spans[start : start + len(table)]  # (b, M, M)
                ends.append(torch.where(inside, last, -1).amax(2))
        return torch.cat(found[0]), torch.cat(found[1])

    def entities(self, read: ReadWords, word_mask: Tensor, least: float) -> tuple[Tensor, Tensor]:
        """Entities of the span classifier alone: sentence, label, first and last word (P, 4), and probability (P,)."""
        labels = slice(1, self.labels + 1)  # skips no entity and the discontinuous classes
        tables = ((start, table.softmax(1)[:, labels]) for start, table in self._tables(read))
        return likely_spans(tables, real_spans(word_mask), least)

    def _tables(self, read: ReadWords) -> Tables:
        return self.spans.tables(read.boundaries) if read.table is None else iter([(0, read.table)])


def likely_spans(probabilities: Tables, spans: Tensor, least: float) -> tuple[Tensor, Tensor]:
    """Those of `spans` (B, M, M) that are likely enough: sentence, label, first and last word (P, 4), and probability (P,)."""
    places, scores = [], []
    for start, table in probabilities:
        place = ((table >= least) & spans[start : start + len(table), None]).nonzero()  # (P, 4)
        scores.append(table[place.unbind(1)])
        places.append(place + place.new_tensor([start, 0, 0, 0]) if start else place)
    return torch.cat(places), torch.cat(scores)


def real_spans(word_mask: Tensor) -> Tensor:
    """True where (first, last) is a span of real words: (B, M, M)."""
    return (word_mask[:, :, None] & word_mask[:, None]).triu()


def rescored(score: Tensor, probability: Tensor, share: float) -> Tensor:
    """The weighted geometric mean of a head's score and the span classifier's probability."""
    return score.clamp(min=0.0) ** (1 - share) * probability**share


def dense_span_loss(logits: Tensor, spans: Tensor, gold: Gold) -> Tensor:
    """Cross-entropy of logits (B, 1 + C, M, M), class 0 being no entity, summed over `spans` (B, M, M).

    With (B, 1 + 2 C, M, M), the last C classes are discontinuous entities; otherwise these are no entities. Of two labels for
    the same first and last word, the later one is the target. Soft labels are part of the target.
    """
    sentences, classes, words, _ = logits.shape
    labels = gold.annotated.shape[1]
    place = (gold.sentence * words + gold.first) * words + gold.last  # (E,)
    no_entity = torch.zeros(sentences * words * words, dtype=gold.label.dtype, device=gold.label.device)
    target = no_entity.scatter_reduce(0, place, _classes(gold, labels, classes), "amax").view(sentences, words, words)
    logits = gold.known(logits)
    loss, soft = functional.cross_entropy(logits, target, reduction="none"), gold.soft_labels  # (B, M, M)
    if soft is None:
        return (loss * spans).sum()
    covered = (target <= soft.labels) | (soft.covers_discontinuous & (labels == soft.labels))[:, None, None]  # (B, M, M)
    share = (soft.weight[:, None, None] * covered).to(loss.dtype)  # (B, M, M)
    loss_of_none = logits.logsumexp(1) - logits[:, 0]  # (B, M, M) if the target were no entity everywhere
    return (loss.lerp(loss_of_none, share) * spans).sum() + _soft_part(logits, share, gold, soft)


def _soft_part(logits: Tensor, share: Tensor, gold: Gold, soft: SoftLabels) -> Tensor:
    """What soft labels add to the loss of a target of no entity, summed."""
    _, classes, words, _ = logits.shape
    labels = gold.annotated.shape[1]
    target, sentence, first, last = _classes(soft, labels, classes), soft.sentence, soft.first, soft.last
    probability = soft.probability * gold.annotated[sentence, soft.label] * (target > 0)  # (O,) 0: a class that is not learned
    place = (sentence * words + first) * words + last
    together = probability.new_zeros(len(gold.annotated) * words * words).index_add(0, place, probability)  # of a span's labels
    probability = probability / together[place].clamp(min=1.0)
    added = probability * (logits[sentence, 0, first, last] - logits[sentence, target, first, last])  # (O,)
    return (share[sentence, first, last] * added).sum()


def _classes(entities: Gold | SoftLabels, labels: int, classes: int) -> Tensor:
    split = entities.label + 1 + labels if classes > 1 + labels else torch.zeros_like(entities.label)
    return torch.where(entities.contiguous, entities.label + 1, split)


def _fragment_loss(logits: Tensor, spans: Tensor, gold: Gold) -> Tensor:
    """Binary cross-entropy of logits (B, 2, M, M) over `spans` (B, M, M): is it a first fragment, is it a last one?"""
    size = logits.shape[-1]
    sides = ((gold.first, gold.first_end), (gold.last_start, gold.last))
    places = [((gold.sentence * 2 + side) * size + start) * size + end for side, (start, end) in enumerate(sides)]  # (E,) each
    target = torch.zeros_like(logits).flatten()
    split = (~gold.contiguous).to(logits.dtype).repeat(2)
    target = target.scatter_reduce(0, torch.cat(places), split, "amax").view_as(logits)
    loss = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    if not gold.all_annotated:
        spans = spans & gold.annotated.all(1)[:, None, None]
    return (loss * spans[:, None]).sum()
