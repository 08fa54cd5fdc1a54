"""Causes of errors: every missed gold entity and every wrong prediction belongs to exactly one case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from anyner.document import Entity
from anyner.evaluation.match import Pair, overlapping, shared_keys
from anyner.overlap import Relation, relation, sharing_pairs, size


class Cause(StrEnum):
    """What went wrong, in the order in which the causes are looked for (missed and spurious are what is left)."""

    TYPE = "type"
    """Fragments right, label wrong."""
    SPLIT = "split"
    """One gold entity came out as several predictions that lie inside it, apart from each other."""
    MERGED = "merged"
    """Several gold entities, apart from each other, came out as one prediction that holds them."""
    FRAGMENT_LOST = "fragment lost"
    """Some fragments of a discontinuous gold entity, whole, and not all of them."""
    BOUNDARY = "boundary"
    """Label right, fragments overlap but differ."""
    BOUNDARY_AND_TYPE = "boundary+type"
    """Fragments overlap but differ, and the label is wrong too."""
    MISSED = "missed"
    SPURIOUS = "spurious"


@dataclass(frozen=True, slots=True)
class ErrorCase:
    """One error: the gold and the predicted entities it is about (none predicted: missed; none gold: spurious)."""

    document: int
    """The document's place in the input."""
    id: str
    cause: Cause
    gold: tuple[Entity, ...]
    predicted: tuple[Entity, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "document": self.document,
            "id": self.id,
            "cause": self.cause.value,
            "gold": [entity.to_json() for entity in self.gold],
            "predicted": [entity.to_json() for entity in self.predicted],
        }


def error_cases(pairs: Sequence[Pair]) -> tuple[ErrorCase, ...]:
    """Every error, by document and then in reading order."""
    cases = []
    for number, pair in enumerate(pairs):
        found = _Document(pair).causes()
        for cause, gold, predicted in sorted(found, key=lambda case: (min(e.start for e in case[1] + case[2]), case[0])):
            cases.append(ErrorCase(number, pair.document.id, cause, gold, predicted))
    return tuple(cases)


def count_causes(cases: Sequence[ErrorCase]) -> dict[Cause, int]:
    """How many cases each cause has; all causes are there."""
    counts = Counter(case.cause for case in cases)
    return {cause: counts[cause] for cause in Cause}


_Case = tuple[Cause, tuple[Entity, ...], tuple[Entity, ...]]


class _Document:
    """The wrong entities of one document, taken away cause by cause until none is left."""

    def __init__(self, pair: Pair) -> None:
        correct = shared_keys(pair)
        self.gold = [entity for entity in pair.gold if entity.key not in correct]
        self.predicted = [entity for entity in pair.predicted if entity.key not in correct]
        self.open_gold = set(range(len(self.gold)))
        self.open_predicted = set(range(len(self.predicted)))
        self.edges = overlapping(self.gold, self.predicted)
        self.found: list[_Case] = []

    def causes(self) -> list[_Case]:
        self._one_to_one((Cause.TYPE,))
        self._split()
        self._merged()
        self._one_to_one((Cause.FRAGMENT_LOST, Cause.BOUNDARY, Cause.BOUNDARY_AND_TYPE))
        for place in sorted(self.open_gold):
            self._take(Cause.MISSED, [place], [])
        for place in sorted(self.open_predicted):
            self._take(Cause.SPURIOUS, [], [place])
        return self.found

    def _take(self, cause: Cause, gold: Sequence[int], predicted: Sequence[int]) -> None:
        self.open_gold.difference_update(gold)
        self.open_predicted.difference_update(predicted)
        self.found.append((cause, tuple(self.gold[i] for i in gold), tuple(self.predicted[i] for i in predicted)))

    def _open_edges(self) -> list[tuple[int, int]]:
        self.edges = [edge for edge in self.edges if edge[0] in self.open_gold and edge[1] in self.open_predicted]
        return self.edges

    def _split(self) -> None:
        inside: dict[int, list[int]] = {}
        for one, other in self._open_edges():
            if _inside(self.predicted[other], self.gold[one]):
                inside.setdefault(one, []).append(other)
        for one, others in inside.items():
            parts = _apart([place for place in others if place in self.open_predicted], self.predicted)
            if len(parts) > 1:
                self._take(Cause.SPLIT, [one], parts)

    def _merged(self) -> None:
        inside: dict[int, list[int]] = {}
        for one, other in self._open_edges():
            if _inside(self.gold[one], self.predicted[other]):
                inside.setdefault(other, []).append(one)
        for other, ones in inside.items():
            parts = _apart([place for place in ones if place in self.open_gold], self.gold)
            if len(parts) > 1:
                self._take(Cause.MERGED, parts, [other])

    def _one_to_one(self, causes: tuple[Cause, ...]) -> None:
        """Pairs of these causes: the first cause first, then the pair that is most alike, then reading order."""
        ranked = []
        for one, other in self._open_edges():
            cause = _pair_cause(self.gold[one], self.predicted[other])
            if cause in causes:
                ranked.append((causes.index(cause), -_likeness(self.gold[one], self.predicted[other]), one, other))
        for rank, _, one, other in sorted(ranked):
            if one in self.open_gold and other in self.open_predicted:
                self._take(causes[rank], [one], [other])


def _pair_cause(gold: Entity, predicted: Entity) -> Cause:
    if gold.fragments == predicted.fragments:
        return Cause.TYPE
    if set(predicted.fragments) < set(gold.fragments):
        return Cause.FRAGMENT_LOST
    return Cause.BOUNDARY if gold.label == predicted.label else Cause.BOUNDARY_AND_TYPE


def _inside(inner: Entity, outer: Entity) -> bool:
    return relation(inner.fragments, outer.fragments) is Relation.INSIDE


def _likeness(one: Entity, other: Entity) -> float:
    """Shared characters over all characters of both."""
    both = reached = 0
    for start, end in sorted(one.fragments + other.fragments):
        both += max(0, end - max(start, reached))
        reached = max(reached, end)
    return (size(one.fragments) + size(other.fragments) - both) / both


def _apart(places: Sequence[int], entities: Sequence[Entity]) -> list[int]:
    """The places whose entity shares no character with one chosen before it."""
    rivals: dict[int, list[int]] = {}
    for one, other, _ in sharing_pairs([entities[place].fragments for place in places]):
        rivals.setdefault(max(one, other), []).append(min(one, other))
    chosen: set[int] = set()
    for number in range(len(places)):
        if chosen.isdisjoint(rivals.get(number, ())):
            chosen.add(number)
    return [places[number] for number in sorted(chosen)]
