"""Scores that single papers report, each under its own name and never as the headline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from anyner.document import Entity
from anyner.evaluation.match import Pair
from anyner.evaluation.scores import NOTHING, Score
from anyner.evaluation.words import WordRuler, WordsOf, default_words


@dataclass(frozen=True, slots=True)
class RightBoundary:
    """How well ends are found (SetGNER, Table 6); labels and inner fragments are ignored."""

    left_right: int
    """Predictions that begin where a gold entity begins."""
    both_right: int
    """Those of them that begin and end as one gold entity does."""
    gold_ends: int
    """Places where a gold entity ends."""
    ends_found: int
    """Those of them where a prediction ends."""

    @property
    def accuracy(self) -> float:
        return self.both_right / self.left_right if self.left_right else 0.0

    @property
    def recall(self) -> float:
        return self.ends_found / self.gold_ends if self.gold_ends else 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "accuracy": self.accuracy,
            "recall": self.recall,
            "left_right": self.left_right,
            "both_right": self.both_right,
            "gold_ends": self.gold_ends,
            "ends_found": self.ends_found,
        }


def lenient_ends(pairs: Sequence[Pair], words_of: WordsOf = default_words) -> Score:
    """Label, first word and last word right, whatever lies between; entities equal in these three count once."""
    total = NOTHING
    for pair in pairs:
        ruler = WordRuler(words_of(pair.document))
        gold = {_ends(entity, ruler) for entity in pair.gold}
        predicted = {_ends(entity, ruler) for entity in pair.predicted}
        total += Score(len(gold & predicted), len(predicted), len(gold))
    return total


def _ends(entity: Entity, ruler: WordRuler) -> tuple[str, int, int]:
    extent = ruler.extent(entity)
    return (entity.label, extent.first, extent.last)


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
