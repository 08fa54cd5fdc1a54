"""Gold and predicted documents side by side, and which of their entities share characters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.fragments import Fragments
from anyner.overlap import sharing_pairs


@dataclass(frozen=True, slots=True)
class Pair:
    """A gold document and what was predicted for it; both entity lists in reading order."""

    document: Document
    predicted: tuple[Entity, ...]
    unjudged: int = 0
    """Predictions left out because the gold document does not annotate their label."""

    @property
    def gold(self) -> tuple[Entity, ...]:
        return self.document.entities


def pair_documents(gold: Sequence[Document], predicted: Sequence[Document]) -> tuple[Pair, ...]:
    """The documents paired by position; raises if their number differs, or at the first text that differs."""
    pairs = []
    for number, (one, other) in enumerate(zip_longest(gold, predicted)):
        if one is None or other is None:
            raise AnynerError(f"{len(gold)} gold documents but {len(predicted)} predicted ones: documents are paired by position")
        if one.text != other.text:
            name = f" ({one.id})" if one.id else ""
            raise AnynerError(f"document {number}{name}: gold and predicted text differ")
        judged = other.entities
        if one.labels is not None:
            annotated = one.labels | {entity.label for entity in one.entities}
            judged = tuple(entity for entity in judged if entity.label in annotated)
        pairs.append(Pair(one, judged, len(other.entities) - len(judged)))
    return tuple(pairs)


def shared_keys(pair: Pair) -> set[tuple[str, Fragments]]:
    """The strictly correct entities: same label, same fragments."""
    return {entity.key for entity in pair.gold} & {entity.key for entity in pair.predicted}


def overlapping(gold: Sequence[Entity], predicted: Sequence[Entity]) -> list[tuple[int, int]]:
    """All pairs (gold index, predicted index) of entities that share a character, sorted; gaps are no part of an entity."""
    border = len(gold)
    meeting = sharing_pairs([entity.fragments for entity in (*gold, *predicted)])
    ordered = ((min(one, other), max(one, other)) for one, other, _ in meeting)
    return sorted((one, other - border) for one, other in ordered if one < border <= other)


def largest_matching(edges: Collection[tuple[int, int]]) -> int:
    """Size of a maximum bipartite matching of gold with predicted entities."""
    golds, predictions = {gold for gold, _ in edges}, {predicted for _, predicted in edges}
    if min(len(golds), len(predictions)) <= 1 or len(edges) == len(golds) == len(predictions):
        return min(len(golds), len(predictions))
    partners: dict[int, list[int]] = {}  # gold entity -> predictions
    for gold, predicted in edges:
        partners.setdefault(gold, []).append(predicted)
    matched: dict[int, int] = {}  # prediction -> gold entity
    dead_ends: set[int] = set()
    for gold in partners:
        _augment(gold, partners, matched, dead_ends)
    return len(matched)


def _augment(gold: int, partners: Mapping[int, Sequence[int]], matched: dict[int, int], dead_ends: set[int]) -> None:
    """Matches one more gold entity along an augmenting path, if there is one; others may be given another prediction.

    Predictions from which no free one can be reached are added to `dead_ends` and never searched again.
    """
    reached_from: dict[int, int] = {}  # prediction -> gold entity
    own: dict[int, int | None] = {gold: None}  # reached gold entity -> its prediction
    queue = [gold]
    for one in queue:
        for predicted in partners[one]:
            if predicted in reached_from or predicted in dead_ends:
                continue
            reached_from[predicted] = one
            if predicted in matched:
                own[matched[predicted]] = predicted
                queue.append(matched[predicted])
                continue
            free: int | None = predicted
            while free is not None:
                matched[free] = reached_from[free]
                free = own[reached_from[free]]
            return
    dead_ends.update(reached_from)
