"""Strict scores of slices: entities of one length, nesting depth, shape and so on.

The recall of a slice is over the gold entities that have its property within the gold set; its precision is over the
predicted entities that have it within the predicted set. An entity can be nested in one set and not in the other, so the
two ratios have separate counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from anyner.corpora.wordform import WordRuler
from anyner.document import Document, Entity
from anyner.evaluation.match import Pair, shared_keys
from anyner.evaluation.scores import RATIOS, ratio
from anyner.overlap import Relation, nesting_depth, sharing_pairs

Property = tuple[str, str]
"""A slice's group and name, such as ("length", "6-10")."""

_BUCKETS: dict[str, dict[str, float]] = {
    "length": {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6-10": 10, "11-20": 20, "21+": inf},
    "fragments": {"1": 1, "2": 2, "3": 3, "4+": inf},
    "gap": {"0": 0, "1": 1, "2": 2, "3": 3, "4-6": 6, "7+": inf},
    "depth": {"0": 0, "1": 1, "2": 2, "3+": inf},
}
"""Groups of slices by a count, with the upper bound of each slice."""
_ORDER: dict[str, Iterable[str]] = _BUCKETS | {
    "shape": ("flat", "overlapped", "nested", "inner", "outer", "crossing", "same fragments"),
    "discontinuous": ("mentions", "sentences"),
    "surface": ("seen", "unseen"),
}


@dataclass(frozen=True, slots=True)
class Slice:
    """The strict score of one slice."""

    group: str
    name: str
    found: int
    """Gold entities of the slice that were predicted."""
    gold: int
    right: int
    """Predicted entities of the slice that are gold."""
    predicted: int

    @property
    def precision(self) -> float:
        return ratio(self.right, self.predicted)

    @property
    def recall(self) -> float:
        return ratio(self.found, self.gold)

    @property
    def f1(self) -> float:
        return ratio(2 * self.precision * self.recall, self.precision + self.recall)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("group", "name", *RATIOS, "found", "gold", "right", "predicted")}


def surface(text: str) -> str:
    """The normalized surface form that decides between seen and unseen: runs of white space and case are ignored."""
    return " ".join(text.split()).casefold()


def surface_forms(documents: Sequence[Document]) -> frozenset[str]:
    """The surface forms of all entities; those of a training corpus are the `train_surfaces` of `evaluate_documents`."""
    return frozenset(surface(entity.text) for document in documents for entity in document.entities)


def slice_scores(pairs: Sequence[Pair], train_surfaces: Collection[str] | None = None) -> tuple[Slice, ...]:
    """Every slice that has a gold or predicted entity, in a fixed order; seen and unseen only with `train_surfaces`."""
    seen = None if train_surfaces is None else frozenset(surface(form) for form in train_surfaces)
    found, gold, right, predicted = counters = [Counter[Property]() for _ in range(4)]
    for pair in pairs:
        correct = shared_keys(pair)
        ruler = WordRuler(pair.document)
        sentence = any(entity.discontinuous for entity in pair.gold)
        for entities, all_of, correct_of in ((pair.gold, gold, found), (pair.predicted, predicted, right)):
            for entity, properties in zip(entities, _properties(entities, ruler, seen), strict=True):
                if sentence:
                    properties.append(("discontinuous", "sentences"))
                all_of.update(properties)
                if entity.key in correct:
                    correct_of.update(properties)
    return tuple(
        Slice(group, name, *(counter[group, name] for counter in counters))
        for group, names in _ORDER.items()
        for name in names
        if gold[group, name] or predicted[group, name]
    )


def _properties(entities: Sequence[Entity], ruler: WordRuler, seen: frozenset[str] | None) -> Iterator[list[Property]]:
    """The properties of each entity of a document, except the slice "sentences", which depends on the gold entities."""
    depths = nesting_depth([entity.fragments for entity in entities])
    for entity, depth, shapes in zip(entities, depths, _shapes(entities), strict=True):
        extent = ruler.extent(entity)
        properties = [
            _bucket("length", extent.length),
            _bucket("fragments", len(entity.fragments)),
            _bucket("depth", depth),
            *(("shape", shape) for shape in sorted(shapes)),
        ]
        if entity.discontinuous:
            properties += [("discontinuous", "mentions"), _bucket("gap", extent.gap)]
        if seen is not None:
            properties.append(("surface", "seen" if surface(entity.text) in seen else "unseen"))
        yield properties


_SHAPES_OF = {
    Relation.EQUAL: ({"same fragments"}, {"same fragments"}),
    Relation.INSIDE: ({"nested", "inner"}, {"nested", "outer"}),
    Relation.AROUND: ({"nested", "outer"}, {"nested", "inner"}),
    Relation.CROSSING: ({"crossing"}, {"crossing"}),
}


def _shapes(entities: Sequence[Entity]) -> list[set[str]]:
    """How each entity relates to the others: flat if it shares no character with any of them."""
    shapes: list[set[str]] = [set() for _ in entities]
    for one, other, relation in sharing_pairs([entity.fragments for entity in entities]):
        first, second = _SHAPES_OF[relation]
        shapes[one] |= first | {"overlapped"}
        shapes[other] |= second | {"overlapped"}
    return [kinds or {"flat"} for kinds in shapes]


def _bucket(group: str, count: int) -> Property:
    return group, next(name for name, highest in _BUCKETS[group].items() if count <= highest)
