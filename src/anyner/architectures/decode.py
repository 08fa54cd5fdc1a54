"""Labelled spans -> entities, for every architecture whose proposals are spans. Fragments are joined here. numpy only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from numpy.typing import NDArray

from anyner.architectures.settings import Decoding
from anyner.overlap import resolve
from anyner.text.align import WordEntity

HostProposals = Mapping[str, NDArray[Any]]
"""Proposals copied to the host: arrays by field name."""
Span = tuple[int, int]
"""First and last word."""
Edges = dict[tuple[Span, Span], float]
MOST_EDGES = 64
"""Maximum number of fragment pairs per sentence and label; the best are kept."""


def decode_spans(proposals: HostProposals, sentences: int, decoding: Decoding) -> list[list[WordEntity]]:
    """The entities of each sentence whose score reaches its threshold, with overlaps resolved by the policy.

    `place` (P, 4) holds sentence, class, first and last word; classes beyond the labels are fragments. `pair` (R, 6), if any,
    holds sentence, label, and first and last word of both fragments.
    """
    found: list[list[WordEntity]] = [[] for _ in range(sentences)]
    kept = (proposals["score"] >= decoding.thresholds["score"]) & (proposals["place"][:, 1] < len(decoding.labels))
    places, scores = proposals["place"][kept].tolist(), proposals["score"][kept].tolist()
    for (sentence, label, first, last), score in zip(places, scores, strict=True):
        found[sentence].append(WordEntity(decoding.labels[label], ((first, last + 1),), score))
    if len(proposals.get("pair", ())):
        for (sentence, label), edges in _edges(proposals, decoding).items():
            for fragments, score in joined(edges):
                spans = tuple((first, last + 1) for first, last in fragments)
                found[sentence].append(WordEntity(decoding.labels[label], spans, score))
    return [resolve(entities, decoding.policy) if len(entities) > 1 else entities for entities in found]


def _edges(proposals: HostProposals, decoding: Decoding) -> dict[tuple[int, int], Edges]:
    """By sentence and label, the pairs of fragments that reach the threshold with the geometric mean of both and of the pair."""
    labels, least = len(decoding.labels), decoding.thresholds["discontinuous"]
    fragment = proposals["place"][:, 1] >= labels
    places, scores = proposals["place"][fragment].tolist(), proposals["score"][fragment].tolist()
    score_of = {(place[0], place[1] - labels, place[2], place[3]): score for place, score in zip(places, scores, strict=True)}
    edges: dict[tuple[int, int], Edges] = defaultdict(dict)
    for (sentence, label, first, last, next_first, next_last), score in zip(
        proposals["pair"].tolist(), proposals["pair_score"].tolist(), strict=True
    ):
        both = (score_of.get((sentence, label, *span), 0.0) for span in ((first, last), (next_first, next_last)))
        mean = (score * next(both) * next(both)) ** (1 / 3)
        if mean >= least:
            edges[sentence, label][(first, last), (next_first, next_last)] = mean
    return edges


def joined(edges: Edges) -> list[tuple[tuple[Span, ...], float]]:
    """Entities from pairs of fragments: all maximal cliques, with the mean score of their pairs.

    Two pairs that share a fragment are two entities ("pain in hip and knee"), unless their other fragments are a pair as well.
    """
    if len(edges) > MOST_EDGES:
        edges = dict(sorted(edges.items(), key=lambda edge: (-edge[1], edge[0]))[:MOST_EDGES])
    neighbours: dict[Span, set[Span]] = defaultdict(set)
    for one, other in edges:
        neighbours[one].add(other)
        neighbours[other].add(one)
    sets = {frozenset(edge) for edge in edges}
    while larger := {one | {span} for one in sets for span in neighbours if span not in one and one <= neighbours[span]}:
        sets = {one for one in sets if not any(one < other for other in larger)} | larger
    entities = []
    for fragments in sorted(tuple(sorted(one)) for one in sets):
        scores = [edges[pair] for pair in combinations(fragments, 2)]
        entities.append((fragments, sum(scores) / len(scores)))
    return entities
