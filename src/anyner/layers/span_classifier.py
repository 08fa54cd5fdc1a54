"""The biaffine span classifier: a label for every span from its first and last word.

`SpanScores` is the bilinear form. `SpanClassifier` also learns from every span (dense span loss) and rescores a head's entities.
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
"""Numbers that one tensor may hold."""
LENGTHS = 64
"""Lengths that are told apart unless said otherwise."""
_RARE = 6.0
"""Logit of no entity at first: about one of a hundred spans is one, and learning that would waste the first steps."""


class SpanScores(nn.Module):
    """Logits of every span for each of C classes: a bilinear form of its first and last word, and what its length says."""

    def __init__(self, word_width: int, width: int, classes: int, *, dropout: float, lengths: int = LENGTHS) -> None:
        """`lengths` are told apart, all longer ones being one."""
        super().__init__()
        self.lengths = lengths
        self.boundaries = nn.Linear(word_width, 2 * width)
        self.dropout = nn.Dropout(dropout)
        self.bilinear = nn.Parameter(torch.empty(classes, width, width))
        self.linear = nn.Linear(2 * width, classes)
        self.length = nn.Embedding(lengths, classes)
        nn.init.normal_(self.bilinear, std=1 / width)
        nn.init.zeros_(self.length.weight)

    def forward(self, words: Tensor) -> Tensor:
        """Of words (B, M, d): (B, C, M, M), float32; those with last < first mean nothing."""
        return self.of_classes(self.as_boundaries(words), slice(None))

    def as_boundaries(self, words: Tensor) -> Tensor:
        """Every word as the start and as the end of a span: (B, M, 2k)."""
        both: Tensor = self.dropout(functional.gelu(self.boundaries(words)))
        return both

    def in_parts(self, boundaries: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """The classes in parts that fit into bounded memory, with their logits (B, c, M, M)."""
        for part in self.parts(boundaries):
            yield part, self.of_classes(boundaries, part)

    def parts(self, boundaries: Tensor) -> list[slice]:
        """One part, unless there are hundreds of classes or windows are long."""
        sentences, words, width = boundaries.shape
        step = max(1, LARGEST // (sentences * words * max(words, width // 2)))
        return [slice(first, first + step) for first in range(0, len(self.bilinear), step)]

    def of_classes(self, boundaries: Tensor, part: slice) -> Tensor:
        """Logits of some of the classes: (B, c, M, M), float32."""
        start, end = boundaries.chunk(2, dim=-1)  # (B, M, k) each
        form = start[:, None] @ self.bilinear[part].to(start.dtype)  # (B, c, M, k)
        logits: Tensor = (form @ end[:, None].transpose(-1, -2)).float()  # (B, c, M, M)
        from_start, from_end = self.linear.weight[part].chunk(2, dim=1)  # (c, k) each
        logits += functional.linear(start, from_start, self.linear.bias[part]).transpose(1, 2)[..., None]  # (B, c, M, 1)
        logits += functional.linear(end, from_end).transpose(1, 2)[:, :, None]  # (B, c, 1, M)
        word = torch.arange(logits.shape[-1], device=logits.device)
        distance = (word[None] - word[:, None]).clamp(0, self.lengths - 1)  # (M, M)
        by_length: Tensor = self.length(distance)[..., part].permute(2, 0, 1)  # (c, M, M)
        return logits + by_length

    def at(self, boundaries: Tensor, spans: Spans) -> Tensor:
        """The logits of N spans alone: (N, C), float32."""
        chosen = [logits[spans.sentence, :, spans.first, spans.last] for _, logits in self.in_parts(boundaries)]
        return chosen[0] if len(chosen) == 1 else torch.cat(chosen, dim=1)


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
        """Of rising words (N, W), of which the first `size` (N,) count; at least one is taken to be there."""
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
    """Sentences as the span classifier reads them, once for all that it is asked."""

    words: Tensor  # (B, M, d)
    boundaries: Tensor  # (B, M, 2k)
    table: Tensor | None  # (B, classes, M, M) the logits of all spans; None: too many to keep


class SpanClassifier(nn.Module):
    """No entity, or one of C labels, for every span. Discontinuous entities, by first and last word, are C other classes."""

    def __init__(
        self,
        word_width: int,
        width: int,
        labels: int,
        *,
        dropout: float,
        discontinuous: bool = False,
        rescore_fragments: bool = False,
        read_by: nn.Linear | None = None,
    ) -> None:
        """`rescore_fragments`: the first and last fragments of discontinuous entities are classified as well.

        `read_by`: the output of a label classifier that adds these logits to its own.
        """
        super().__init__()
        self.labels, self.discontinuous = labels, discontinuous
        self.spans = SpanScores(word_width, width, 1 + labels * (2 if discontinuous else 1), dropout=dropout)
        self.fragments = SpanScores(word_width, width, 2, dropout=dropout) if rescore_fragments and discontinuous else None
        nn.init.constant_(self.spans.linear.bias[:1], _RARE)
        if self.fragments is not None:
            nn.init.constant_(self.fragments.linear.bias, -_RARE)
        if read_by is not None:
            nn.init.constant_(read_by.bias[:1], -_RARE)

    def loss(self, words: Tensor, word_mask: Tensor, gold: Gold) -> Tensor:
        """The dense span loss, summed over all spans of the words (B, M, d)."""
        loss = dense_span_loss(self.spans(words), word_mask, gold)
        return loss if self.fragments is None else loss + _fragment_loss(self.fragments(words), word_mask, gold)

    def read(self, words: Tensor) -> ReadWords:
        boundaries = self.spans.as_boundaries(words)
        parts = self.spans.parts(boundaries)
        return ReadWords(words, boundaries, self.spans.of_classes(boundaries, parts[0]) if len(parts) == 1 else None)

    def logits(self, read: ReadWords, spans: Spans) -> Tensor:
        """Of no entity, and of each class: (N, classes)."""
        if read.table is None:
            return self.spans.at(read.boundaries, spans)
        return read.table[spans.sentence, :, spans.first, spans.last]

    def probabilities(self, read: ReadWords, entities: Boundaries) -> Tensor:
        """Of each label for N entities: (N, C)."""
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

    def farthest(self, read: ReadWords, word_mask: Tensor, least: float) -> tuple[Tensor, Tensor]:
        """The last words of the longest spans from each word that may be contiguous and discontinuous entities: (B, M) each.

        -1 where there are none of a probability of at least `least`.
        """
        whole = split = total = read.boundaries.new_full((), -math.inf, dtype=torch.float32)
        for part, logits in self._tables(read):
            total = torch.logaddexp(total, logits.logsumexp(1))  # (B, M, M)
            behind = self.labels + 1 - part.start  # where in this part the discontinuous classes begin
            of_whole, of_split = logits[:, max(0, 1 - part.start) : max(0, behind)], logits[:, max(0, behind) :]
            whole = torch.maximum(whole, of_whole.amax(1)) if of_whole.shape[1] else whole
            split = torch.maximum(split, of_split.amax(1)) if of_split.shape[1] else split
        inside, last = real_spans(word_mask), torch.arange(word_mask.shape[1], device=word_mask.device)
        likely = (inside & (best - total >= math.log(least)) for best in (whole, split))
        contiguous, discontinuous = (torch.where(spans, last, -1).amax(2) for spans in likely)
        return contiguous, discontinuous

    def entities(self, read: ReadWords, word_mask: Tensor, least: float) -> tuple[Tensor, Tensor]:
        """All spans that it gives a label by itself: sentence, label, first and last word (P, 4), and probability (P,)."""
        total = read.boundaries.new_full((), -math.inf, dtype=torch.float32)
        for _, logits in self._tables(read):
            total = torch.logaddexp(total, logits.logsumexp(1))  # (B, M, M)
        inside, places, scores = real_spans(word_mask)[:, None], [], []
        for part, logits in self._tables(read):
            probability = (logits - total[:, None]).exp()  # (B, c, M, M)
            place = ((probability >= least) & inside).nonzero()  # (P, 4)
            score, place = probability[place.unbind(1)], place + place.new_tensor([0, part.start - 1, 0, 0])
            label = (place[:, 1] >= 0) & (place[:, 1] < self.labels)  # neither no entity nor a discontinuous one
            places.append(place[label])
            scores.append(score[label])
        return torch.cat(places), torch.cat(scores)

    def _tables(self, read: ReadWords) -> Iterator[tuple[slice, Tensor]]:
        if read.table is None:
            yield from self.spans.in_parts(read.boundaries)
        else:
            yield slice(0, len(self.spans.bilinear)), read.table


def real_spans(word_mask: Tensor) -> Tensor:
    """True where (first, last) is a span of real words: (B, M, M)."""
    return (word_mask[:, :, None] & word_mask[:, None]).triu()


def rescored(score: Tensor, probability: Tensor, share: float) -> Tensor:
    """A head's score and the span classifier's probability as one: the weighted geometric mean."""
    return score.clamp(min=0.0) ** (1 - share) * probability**share


def least_before_rescoring(least: float, share: float) -> float:
    """What a score must be at least to reach `least` after rescoring, a probability being at most 1."""
    return float(least ** (1 / (1 - share)))


def dense_span_loss(logits: Tensor, word_mask: Tensor, gold: Gold) -> Tensor:
    """Cross-entropy of (B, 1 + C, M, M), 0 being no entity, summed over all spans of real words.

    Discontinuous entities are classes of their own, behind the others, in (B, 1 + 2 C, M, M), and else no entities. Of two labels
    for the same first and last word the later one is learned. Soft labels are a part of the target.
    """
    sentences, classes, words, _ = logits.shape
    labels = gold.annotated.shape[1]
    place = (gold.sentence * words + gold.first) * words + gold.last  # (E,)
    no_entity = torch.zeros(sentences * words * words, dtype=gold.label.dtype, device=gold.label.device)
    target = no_entity.scatter_reduce(0, place, _classes(gold, labels, classes), "amax").view(sentences, words, words)
    unknown = functional.pad((~gold.annotated).repeat(1, (classes - 1) // labels), (1, 0))  # (B, classes)
    logits = logits.masked_fill(unknown[:, :, None, None], -1e4)
    loss = functional.cross_entropy(logits, target, reduction="none")  # (B, M, M)
    spans, soft = real_spans(word_mask), gold.soft_labels
    if soft is None:
        return torch.where(spans, loss, 0.0).sum()
    covered = (target <= labels) | soft.covers_discontinuous[:, None, None]  # (B, M, M)
    share = (soft.weight[:, None, None] * covered).to(loss.dtype)  # (B, M, M)
    loss_of_none = logits.logsumexp(1) - logits[:, 0]  # (B, M, M) if the target were no entity everywhere
    return torch.where(spans, loss.lerp(loss_of_none, share), 0.0).sum() + _soft_part(logits, share, gold, soft)


def _soft_part(logits: Tensor, share: Tensor, gold: Gold, soft: SoftLabels) -> Tensor:
    """What the soft labels add to a target of no entity, summed."""
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


def _fragment_loss(logits: Tensor, word_mask: Tensor, gold: Gold) -> Tensor:
    """Binary cross-entropy of (B, 2, M, M) over all spans: is it a first, is it a last fragment?"""
    size = logits.shape[-1]
    sides = ((gold.first, gold.first_end), (gold.last_start, gold.last))
    places = [((gold.sentence * 2 + side) * size + start) * size + end for side, (start, end) in enumerate(sides)]  # (E,) each
    target = torch.zeros_like(logits).flatten()
    split = (~gold.contiguous).to(logits.dtype).repeat(2)
    target = target.scatter_reduce(0, torch.cat(places), split, "amax").view_as(logits)
    loss = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    spans = real_spans(word_mask) & gold.annotated.all(1)[:, None, None]
    return torch.where(spans[:, None], loss, 0.0).sum()
