"""Strict scores of parts of the data: which kinds of entity are found, and which are not.

Recall of a slice is over the gold entities that have its property among the gold entities; precision is over the
predicted entities that have it among the predicted ones. An entity can be inside another in one set and alone in the
other, so the two ratios have counts of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from anyner.document import Document, Entity
from anyner.evaluation.match import Pair, shared_keys
from anyner.evaluation.words import WordRuler, WordsOf, default_words
from anyner.overlap import Relation, nesting_depth, sharing_pairs

Property = tuple[str, str]
"""A slice's group and name, as ("length", "6-10")."""

_LENGTHS = ((1, "1"), (2, "2"), (3, "3"), (4, "4"), (5, "5"), (10, "6-10"), (20, "11-20"), (None, "21+"))
_FRAGMENTS = ((1, "1"), (2, "2"), (3, "3"), (None, "4+"))
_GAPS = ((0, "0"), (1, "1"), (2, "2"), (3, "3"), (6, "4-6"), (None, "7+"))
_DEPTHS = ((0, "0"), (1, "1"), (2, "2"), (None, "3+"))

_ORDER = {
    "length": tuple(name for _, name in _LENGTHS),
    "fragments": tuple(name for _, name in _FRAGMENTS),
    "gap": tuple(name for _, name in _GAPS),
    "depth": tuple(name for _, name in _DEPTHS),
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
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.found / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "group": self.group,
            "name": self.name,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "found": self.found,
            "gold": self.gold,
            "right": self.right,
            "predicted": self.predicted,
        }


def surface(text: str) -> str:
    """A surface form as seen and unseen are judged: white space runs and case make no difference."""
    return " ".join(text.split()).casefold()


def surface_forms(documents: Sequence[Document]) -> frozenset[str]:
    """The surface forms of all entities, as `evaluate_documents` takes them from the training corpus."""
    return frozenset(surface(entity.text) for document in documents for entity in document.entities)


def slice_scores(
    pairs: Sequence[Pair],
    train_surfaces: Collection[str] | None = None,
    words_of: WordsOf = default_words,
) -> tuple[Slice, ...]:
    """Every slice that has a gold or predicted entity, in a fixed order; seen and unseen only with `train_surfaces`."""
    seen = None if train_surfaces is None else frozenset(surface(form) for form in train_surfaces)
    found: Counter[Property] = Counter()
    gold: Counter[Property] = Counter()
    right: Counter[Property] = Counter()
    predicted: Counter[Property] = Counter()
    for pair in pairs:
        correct = shared_keys(pair)
        ruler = WordRuler(words_of(pair.document))
        sentence = any(entity.discontinuous for entity in pair.gold)
        for entities, all_of, correct_of in ((pair.gold, gold, found), (pair.predicted, predicted, right)):
            for entity, properties in zip(entities, _properties(entities, ruler, seen), strict=True):
                if sentence:
                    properties.append(("discontinuous", "sentences"))
                all_of.update(properties)
                if entity.key in correct:
                    correct_of.update(properties)
    return tuple(
        Slice(group, name, found[group, name], gold[group, name], right[group, name], predicted[group, name])
        for group, names in _ORDER.items()
        for name in names
        if gold[group, name] or predicted[group, name]
    )


def _properties(entities: Sequence[Entity], ruler: WordRuler, seen: frozenset[str] | None) -> Iterator[list[Property]]:
    """For each entity of one document's set, every property it has there but that of its document."""
    depths = nesting_depth([entity.fragments for entity in entities])
    for entity, depth, shapes in zip(entities, depths, _shapes(entities), strict=True):
        extent = ruler.extent(entity)
        properties = [
            ("length", _bucket(extent.length, _LENGTHS)),
            ("fragments", _bucket(len(entity.fragments), _FRAGMENTS)),
            ("depth", _bucket(depth, _DEPTHS)),
            *(("shape", shape) for shape in sorted(shapes)),
        ]
        if entity.discontinuous:
            properties += [("discontinuous", "mentions"), ("gap", _bucket(extent.gap, _GAPS))]
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
    """How each entity lies among the others: flat when it shares no character with any of them."""
    shapes: list[set[str]] = [set() for _ in entities]
    for one, other, relation in sharing_pairs([entity.fragments for entity in entities]):
        first, second = _SHAPES_OF[relation]
        shapes[one] |= first | {"overlapped"}
        shapes[other] |= second | {"overlapped"}
    return [kinds or {"flat"} for kinds in shapes]


def _bucket(value: int, buckets: Sequence[tuple[int | None, str]]) -> str:
    return next(name for highest, name in buckets if highest is None or value <= highest)
