"""Gold and predicted documents side by side, and which of their entities share characters."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

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
    """The documents paired by position; a different number or a different text is an error that names the first one."""
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
    """Every (place in gold, place in predicted) whose entities share a character, sorted; gaps count for neither."""
    border = len(gold)
    meeting = sharing_pairs([entity.fragments for entity in (*gold, *predicted)])
    ordered = ((min(one, other), max(one, other)) for one, other, _ in meeting)
    return sorted((one, other - border) for one, other in ordered if one < border <= other)


def largest_matching(edges: Collection[tuple[int, int]]) -> int:
    """The greatest number of edges of which no two share a gold or a predicted entity."""
    golds, predictions = {gold for gold, _ in edges}, {predicted for _, predicted in edges}
    if min(len(golds), len(predictions)) <= 1 or len(edges) == len(golds) == len(predictions):
        return min(len(golds), len(predictions))
    rows, columns = zip(*edges, strict=True)
    graph = csr_array((np.ones(len(edges)), (rows, columns)))
    return int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())
