"""Causes of errors: every missed gold entity and every wrong prediction belongs to exactly one case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from anyner.document import Entity
from anyner.evaluation.match import Pair, overlapping, shared_keys
from anyner.overlap import Relation, relation, sharing_pairs, size


class Cause(StrEnum):
    """What went wrong, in the order in which causes are tested; missed and spurious are what remains."""

    TYPE = "type"
    """Fragments right, label wrong."""
    SPLIT = "split"
    """One gold entity predicted as several entities inside it that share no characters."""
    MERGED = "merged"
    """Several gold entities that share no characters, predicted as one entity around them."""
    FRAGMENT_LOST = "fragment lost"
    """Some, but not all, fragments of a discontinuous gold entity."""
    BOUNDARY = "boundary"
    """Label right, fragments overlap but differ."""
    BOUNDARY_AND_TYPE = "boundary+type"
    """Fragments overlap but differ, and the label is wrong too."""
    MISSED = "missed"
    SPURIOUS = "spurious"


@dataclass(frozen=True, slots=True)
class ErrorCase:
    """One error with the gold and predicted entities involved; a missed case has only gold, a spurious one only predictions."""

    document: int
    """Index of the document in the input."""
    id: str
    cause: Cause
    gold: tuple[Entity, ...]
    predicted: tuple[Entity, ...]

    def to_json(self) -> dict[str, Any]:
        gold, predicted = ([entity.to_json() for entity in side] for side in (self.gold, self.predicted))
        return {"document": self.document, "id": self.id, "cause": self.cause.value, "gold": gold, "predicted": predicted}


def error_cases(pairs: Sequence[Pair]) -> tuple[ErrorCase, ...]:
    """Every error, in document order, then in reading order."""
    return tuple(case for number, pair in enumerate(pairs) for case in _Document(number, pair).cases())


class _Document:
    """Assigns the wrong entities of one document to causes, one cause after the other. Side 0 is gold, side 1 predicted."""

    def __init__(self, number: int, pair: Pair) -> None:
        self.number, self.id = number, pair.document.id
        correct = shared_keys(pair)
        gold, predicted = ([one for one in entities if one.key not in correct] for entities in (pair.gold, pair.predicted))
        self.sides = (gold, predicted)
        self.open = (set(range(len(gold))), set(range(len(predicted))))
        self.edges = overlapping(gold, predicted)
        self.found: list[ErrorCase] = []

    def cases(self) -> list[ErrorCase]:
        self._one_to_one((Cause.TYPE,))
        self._several_in_one(Cause.SPLIT, outer=0)
        self._several_in_one(Cause.MERGED, outer=1)
        self._one_to_one((Cause.FRAGMENT_LOST, Cause.BOUNDARY, Cause.BOUNDARY_AND_TYPE))
        for place in sorted(self.open[0]):
            self._take(Cause.MISSED, [place], [])
        for place in sorted(self.open[1]):
            self._take(Cause.SPURIOUS, [], [place])
        return sorted(self.found, key=lambda case: (min(entity.start for entity in case.gold + case.predicted), case.cause))

    def _take(self, cause: Cause, *places: Sequence[int]) -> None:
        for still_open, taken in zip(self.open, places, strict=True):
            still_open.difference_update(taken)
        gold, predicted = (tuple(side[i] for i in taken) for side, taken in zip(self.sides, places, strict=True))
        self.found.append(ErrorCase(self.number, self.id, cause, gold, predicted))

    def _open_edges(self) -> list[tuple[int, int]]:
        self.edges = [edge for edge in self.edges if edge[0] in self.open[0] and edge[1] in self.open[1]]
        return self.edges

    def _several_in_one(self, cause: Cause, outer: int) -> None:
        """Entities of side `outer` around several entities of the other side that share no characters."""
        inner = 1 - outer
        inside: dict[int, list[int]] = {}
        for edge in self._open_edges():
            held, holder = self.sides[inner][edge[inner]], self.sides[outer][edge[outer]]
            if relation(held.fragments, holder.fragments) is Relation.INSIDE:
                inside.setdefault(edge[outer], []).append(edge[inner])
        for one, others in inside.items():
            parts = _apart([place for place in others if place in self.open[inner]], self.sides[inner])
            if len(parts) > 1:
                self._take(cause, *(([one], parts) if outer == 0 else (parts, [one])))

    def _one_to_one(self, causes: tuple[Cause, ...]) -> None:
        """Pairs of these causes: by order of the causes, then by similarity, then in reading order."""
        ranked = []
        for one, other in self._open_edges():
            gold, predicted = self.sides[0][one], self.sides[1][other]
            cause = _pair_cause(gold, predicted)
            if cause in causes:
                ranked.append((causes.index(cause), -_similarity(gold, predicted), one, other))
        for rank, _, one, other in sorted(ranked):
            if one in self.open[0] and other in self.open[1]:
                self._take(causes[rank], [one], [other])


def _pair_cause(gold: Entity, predicted: Entity) -> Cause:
    if gold.fragments == predicted.fragments:
        return Cause.TYPE
    if set(predicted.fragments) < set(gold.fragments):
        return Cause.FRAGMENT_LOST
    return Cause.BOUNDARY if gold.label == predicted.label else Cause.BOUNDARY_AND_TYPE


def _similarity(one: Entity, other: Entity) -> float:
    """Jaccard similarity over characters."""
    both = reached = 0
    for start, end in sorted(one.fragments + other.fragments):
        both += max(0, end - max(start, reached))
        reached = max(reached, end)
    return (size(one.fragments) + size(other.fragments) - both) / both


def _apart(places: Sequence[int], entities: Sequence[Entity]) -> list[int]:
    """The places whose entities share no characters, chosen greedily in the given order."""
    rivals: dict[int, list[int]] = {}
    for one, other, _ in sharing_pairs([entities[place].fragments for place in places]):
        rivals.setdefault(max(one, other), []).append(min(one, other))
    chosen: set[int] = set()
    for number in range(len(places)):
        if chosen.isdisjoint(rivals.get(number, ())):
            chosen.add(number)
    return [places[number] for number in sorted(chosen)]
