"""Precision, recall and F1: strict (the headline), per label, averaged, and the three softer scenarios."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from anyner.document import Document, Entity
from anyner.evaluation.match import Pair, largest_matching, overlapping, pair_documents, shared_keys


@dataclass(frozen=True, slots=True)
class Score:
    """Counts and the three ratios they give; a ratio whose denominator is 0 is 0."""

    correct: float
    predicted: int
    gold: int

    @property
    def precision(self) -> float:
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        both = self.predicted + self.gold
        return 2 * self.correct / both if both else 0.0

    def __add__(self, other: Score) -> Score:
        return Score(self.correct + other.correct, self.predicted + other.predicted, self.gold + other.gold)

    def to_json(self) -> dict[str, Any]:
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "correct": self.correct,
            "predicted": self.predicted,
            "gold": self.gold,
        }


NOTHING = Score(0, 0, 0)


@dataclass(frozen=True, slots=True)
class LabelScore:
    """The strict score of one label; its support is `score.gold`."""

    label: str
    score: Score


@dataclass(frozen=True, slots=True)
class Average:
    """A mean of the labels' precisions, recalls and F1 values."""

    precision: float
    recall: float
    f1: float

    def to_json(self) -> dict[str, float]:
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1}


@dataclass(frozen=True, slots=True)
class Scenarios:
    """The four scenarios under nervaluate's names, each by one-to-one matching that no order can change."""

    strict: Score
    """Label and fragments right."""
    exact: Score
    """Boundary: fragments right, label ignored."""
    ent_type: Score
    """Type: label right, at least one character shared."""
    partial: Score
    """Label ignored: fragments right counts 1, at least one character shared counts a half."""

    def __add__(self, other: Scenarios) -> Scenarios:
        return Scenarios(
            self.strict + other.strict,
            self.exact + other.exact,
            self.ent_type + other.ent_type,
            self.partial + other.partial,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "strict": self.strict.to_json(),
            "exact": self.exact.to_json(),
            "ent_type": self.ent_type.to_json(),
            "partial": self.partial.to_json(),
        }


def strict_counts(gold: Sequence[Document], predicted: Sequence[Document]) -> Score:
    """The headline alone, by intersecting sets: cheap enough for every epoch."""
    return sum((strict_score(pair) for pair in pair_documents(gold, predicted)), NOTHING)


def strict_score(pair: Pair) -> Score:
    """The strict counts of one document."""
    return Score(len(shared_keys(pair)), len(pair.predicted), len(pair.gold))


def label_scores(pairs: Sequence[Pair]) -> tuple[LabelScore, ...]:
    """The strict score of every label that occurs in gold or predictions, sorted by label."""
    correct: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    gold: Counter[str] = Counter()
    for pair in pairs:
        correct.update(label for label, _ in shared_keys(pair))
        predicted.update(entity.label for entity in pair.predicted)
        gold.update(entity.label for entity in pair.gold)
    labels = sorted(gold.keys() | predicted.keys())
    return tuple(LabelScore(label, Score(correct[label], predicted[label], gold[label])) for label in labels)


def macro_average(labels: Sequence[LabelScore]) -> Average:
    """The plain mean over the labels: a rare label weighs as much as a frequent one."""
    return _average(labels, [1] * len(labels))


def weighted_average(labels: Sequence[LabelScore]) -> Average:
    """The mean over the labels, each weighted by its gold entities."""
    return _average(labels, [label.score.gold for label in labels])


def _average(labels: Sequence[LabelScore], weights: Sequence[int]) -> Average:
    total = sum(weights)
    if not total:
        return Average(0.0, 0.0, 0.0)
    weighted = [(weight / total, label.score) for weight, label in zip(weights, labels, strict=True)]
    return Average(
        sum(weight * score.precision for weight, score in weighted),
        sum(weight * score.recall for weight, score in weighted),
        sum(weight * score.f1 for weight, score in weighted),
    )


def scenario_scores(pairs: Sequence[Pair]) -> Scenarios:
    """The four scenarios over all documents."""
    return sum((_scenarios(pair) for pair in pairs), Scenarios(NOTHING, NOTHING, NOTHING, NOTHING))


def _scenarios(pair: Pair) -> Scenarios:
    """Right entities are matched first; what is left of both sides is then matched as well as can be."""
    predicted, gold = len(pair.predicted), len(pair.gold)
    strict = shared_keys(pair)
    left_gold = [entity for entity in pair.gold if entity.key not in strict]
    left_predicted = [entity for entity in pair.predicted if entity.key not in strict]
    edges = overlapping(left_gold, left_predicted)
    same_label = [(one, other) for one, other in edges if left_gold[one].label == left_predicted[other].label]

    paired_gold, paired_predicted = _same_fragments(left_gold, left_predicted)
    partly = [(one, other) for one, other in edges if one not in paired_gold and other not in paired_predicted]

    exact = len(strict) + len(paired_gold)
    return Scenarios(
        strict=Score(len(strict), predicted, gold),
        exact=Score(exact, predicted, gold),
        ent_type=Score(len(strict) + largest_matching(same_label), predicted, gold),
        partial=Score(exact + largest_matching(partly) / 2, predicted, gold),
    )


def _same_fragments(gold: Sequence[Entity], predicted: Sequence[Entity]) -> tuple[set[int], set[int]]:
    """The places in both lists that pair off by equal fragments; several labels may lie on the same fragments."""
    common = Counter(entity.fragments for entity in gold) & Counter(entity.fragments for entity in predicted)
    paired: tuple[set[int], set[int]] = (set(), set())
    for entities, places in zip((gold, predicted), paired, strict=True):
        left = common.copy()
        for place, entity in enumerate(entities):
            if left[entity.fragments]:
                left[entity.fragments] -= 1
                places.add(place)
    return paired
