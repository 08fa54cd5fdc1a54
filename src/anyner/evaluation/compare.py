"""Two systems on the same gold documents: where they differ, and whether the difference in F1 is significant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from anyner.document import Document, Entity
from anyner.evaluation.bootstrap import Comparison, compare
from anyner.evaluation.evaluate import Evaluation, evaluate_documents


class Outcome(StrEnum):
    """How two systems differ on one entity."""

    ONLY_A_FOUND = "only A found it"
    ONLY_B_FOUND = "only B found it"
    ONLY_A_WRONG = "only A predicted it wrongly"
    ONLY_B_WRONG = "only B predicted it wrongly"


@dataclass(frozen=True, slots=True)
class Difference:
    """An entity that only one system predicted: a gold one for the first two outcomes, a wrong one for the others."""

    document: int
    """Index of the document in the input."""
    id: str
    outcome: Outcome
    entity: Entity

    def to_json(self) -> dict[str, Any]:
        return {"document": self.document, "id": self.id, "outcome": self.outcome.value, "entity": self.entity.to_json()}


@dataclass(frozen=True, slots=True)
class PairedEvaluation:
    """Two evaluations on the same documents, the paired bootstrap test of their strict F1, and every difference."""

    a: Evaluation
    b: Evaluation
    test: Comparison
    both_found: int
    """Gold entities that both systems found."""
    both_missed: int
    differences: tuple[Difference, ...]

    @property
    def outcomes(self) -> dict[Outcome, int]:
        counts = Counter(difference.outcome for difference in self.differences)
        return {outcome: counts[outcome] for outcome in Outcome}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON. Ratios are from 0 to 1."""
        return {
            "a": self.a.to_json(),
            "b": self.b.to_json(),
            "difference": {**asdict(self.test), "interval": [self.test.interval.low, self.test.interval.high]},
            "both_found": self.both_found,
            "both_missed": self.both_missed,
            "outcomes": {outcome.value: count for outcome, count in self.outcomes.items()},
            "differences": [difference.to_json() for difference in self.differences],
        }


def compare_documents(
    gold: Sequence[Document], a: Sequence[Document], b: Sequence[Document], resamples: int = 1000
) -> PairedEvaluation:
    """Measure the predicted documents of two systems against gold ones, all paired by position."""
    first, second = (evaluate_documents(gold, predicted, resamples=resamples) for predicted in (a, b))
    differences: list[Difference] = []
    both_found = both_missed = 0
    for number, (one, other) in enumerate(zip(first.pairs, second.pairs, strict=True)):
        of_a, of_b = ({entity.key for entity in pair.predicted} for pair in (one, other))
        right = {entity.key for entity in one.gold}
        both_found += len(right & of_a & of_b)
        both_missed += len(right - of_a - of_b)
        by_key = {entity.key: entity for entity in (*other.predicted, *one.predicted, *one.gold)}
        found = [
            Difference(number, one.document.id, _outcome(key in of_a, key in right), by_key[key])
            for key in by_key
            if (key in of_a) != (key in of_b)
        ]
        differences += sorted(found, key=lambda one: (one.entity.start, one.entity.end, one.entity.key))
    test = compare(first.pairs, second.pairs, resamples)
    return PairedEvaluation(first, second, test, both_found, both_missed, tuple(differences))


def _outcome(of_a: bool, right: bool) -> Outcome:
    if right:
        return Outcome.ONLY_A_FOUND if of_a else Outcome.ONLY_B_FOUND
    return Outcome.ONLY_A_WRONG if of_a else Outcome.ONLY_B_WRONG
