"""Precision, recall and F1: strict (the headline), per label, averaged, and the three softer scenarios.

The metrics at the end are specific to single papers. Each has its own name; none is the headline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from anyner.corpora.wordform import WordRuler
from anyner.document import Entity
from anyner.evaluation.match import Pair, largest_matching, overlapping, shared_keys

RATIOS = ("precision", "recall", "f1")


def ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


@dataclass(frozen=True, slots=True)
class Score:
    """Counts with their precision, recall and F1; a ratio whose denominator is 0 is 0."""

    correct: float
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        return ratio(self.correct, self.predicted)

    @property
    def recall(self) -> float:
        return ratio(self.correct, self.gold)

    @property
    def f1(self) -> float:
        return self.f(1.0)

    def f(self, recall_weight: float) -> float:
        """F-beta, with `recall_weight` as the square of beta."""
        return ratio((1 + recall_weight) * self.correct, self.predicted + recall_weight * self.gold)

    def __add__(self, other: Score) -> Score:
        return Score(self.correct + other.correct, self.predicted + other.predicted, self.gold + other.gold)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*RATIOS, "correct", "predicted", "gold")}


NOTHING = Score(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Average:
    """A mean of the labels' precisions, recalls and F1 values."""

    precision: float
    recall: float
    f1: float

    def to_json(self) -> dict[str, float]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Scenarios:
    """The four scenarios under nervaluate's names, each with one-to-one matching that does not depend on order."""

    strict: Score
    """Label and fragments right."""
    exact: Score
    """Boundary: fragments right, label ignored."""
    ent_type: Score
    """Type: label right, at least one character shared."""
    partial: Score
    """Label ignored: equal fragments count 1, at least one shared character counts a half."""

    def to_json(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name).to_json() for field in fields(self)}


def strict_score(pair: Pair) -> Score:
    """The strict counts of one document."""
    return Score(len(shared_keys(pair)), len(pair.predicted), len(pair.gold))


def label_scores(pairs: Sequence[Pair]) -> dict[str, Score]:
    """The strict score of every label that occurs in gold or predictions, sorted by label."""
    correct = Counter(label for pair in pairs for label, _ in shared_keys(pair))
    predicted = Counter(entity.label for pair in pairs for entity in pair.predicted)
    gold = Counter(entity.label for pair in pairs for entity in pair.gold)
    return {label: Score(correct[label], predicted[label], gold[label]) for label in sorted(gold.keys() | predicted.keys())}


def macro_average(scores: Collection[Score]) -> Average:
    """The plain mean over the labels: a rare label weighs as much as a frequent one."""
    return _average(scores, [1] * len(scores))


def weighted_average(scores: Collection[Score]) -> Average:
    """The mean over the labels, each weighted by its gold entities (the support)."""
    return _average(scores, [score.gold for score in scores])


def _average(scores: Collection[Score], weights: Sequence[int]) -> Average:
    total = sum(weights) or 1
    weighted = [(weight / total, score) for weight, score in zip(weights, scores, strict=True)]
    return Average(*(sum(weight * getattr(score, name) for weight, score in weighted) for name in RATIOS))


def scenario_scores(pairs: Sequence[Pair]) -> Scenarios:
    """The four scenarios over all documents."""
    return Scenarios(*(sum(scores, NOTHING) for scores in zip((NOTHING,) * 4, *map(_scenarios, pairs), strict=True)))


def _scenarios(pair: Pair) -> tuple[Score, ...]:
    """The four scores of one document. Correct entities are matched first; the rest by maximum matching."""
    predicted, gold = len(pair.predicted), len(pair.gold)
    strict = shared_keys(pair)
    left_gold = [entity for entity in pair.gold if entity.key not in strict]
    left_predicted = [entity for entity in pair.predicted if entity.key not in strict]
    edges = overlapping(left_gold, left_predicted)
    same_label = [(one, other) for one, other in edges if left_gold[one].label == left_predicted[other].label]

    paired_gold, paired_predicted = _same_fragments(left_gold, left_predicted)
    partly = [(one, other) for one, other in edges if one not in paired_gold and other not in paired_predicted]

    exact = len(strict) + len(paired_gold)
    same_type = len(strict) + largest_matching(same_label)
    partial = exact + largest_matching(partly) / 2
    return tuple(Score(correct, predicted, gold) for correct in (len(strict), exact, same_type, partial))


def _same_fragments(gold: Sequence[Entity], predicted: Sequence[Entity]) -> tuple[set[int], set[int]]:
    """Indices in both lists of the entities paired by equal fragments; the same fragments may have several labels."""
    common = Counter(entity.fragments for entity in gold) & Counter(entity.fragments for entity in predicted)
    paired: tuple[set[int], set[int]] = (set(), set())
    for entities, places in zip((gold, predicted), paired, strict=True):
        left = common.copy()
        for place, entity in enumerate(entities):
            if left[entity.fragments]:
                left[entity.fragments] -= 1
                places.add(place)
    return paired


@dataclass(frozen=True, slots=True)
class RightBoundary:
    """How well right boundaries are found (SetGNER, Table 6); labels and inner fragments are ignored."""

    left_right: int
    """Predictions that begin where a gold entity begins."""
    both_right: int
    """Of these, predictions that begin and end where one gold entity does."""
    gold_ends: int
    """Distinct positions where a gold entity ends."""
    ends_found: int
    """Of these, positions where a prediction ends."""

    @property
    def accuracy(self) -> float:
        return ratio(self.both_right, self.left_right)

    @property
    def recall(self) -> float:
        return ratio(self.ends_found, self.gold_ends)

    def to_json(self) -> dict[str, Any]:
        return {"accuracy": self.accuracy, "recall": self.recall, **asdict(self)}


def lenient_ends(pairs: Sequence[Pair]) -> Score:
    """Score by label, first word and last word, ignoring what lies between; entities equal in all three count once."""
    total = NOTHING
    for pair in pairs:
        extent = WordRuler(pair.document).extent
        gold, predicted = (
            {(entity.label, extent(entity).first, extent(entity).last) for entity in entities}
            for entities in (pair.gold, pair.predicted)
        )
        total += Score(len(gold & predicted), len(predicted), len(gold))
    return total


def right_boundary(pairs: Sequence[Pair]) -> RightBoundary:
    """Right-boundary accuracy and recall over all documents."""
    left_right = both_right = gold_ends = ends_found = 0
    for pair in pairs:
        hulls = {(entity.start, entity.end) for entity in pair.gold}
        starts = {start for start, _ in hulls}
        ends = {end for _, end in hulls}
        left_right += sum(entity.start in starts for entity in pair.predicted)
        both_right += sum((entity.start, entity.end) in hulls for entity in pair.predicted)
        gold_ends += len(ends)
        ends_found += len(ends & {entity.end for entity in pair.predicted})
    return RightBoundary(left_right, both_right, gold_ends, ends_found)
