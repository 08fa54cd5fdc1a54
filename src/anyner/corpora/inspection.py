"""The statistics of a corpus: how much there is, which shapes, how long, how crowded."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from anyner.corpora.corpus import Corpus, Problem
from anyner.document import Document
from anyner.fragments import Fragment, Fragments
from anyner.overlap import Relation, sharing_pairs

WordsOf = Callable[[Document], Sequence[Fragment]]

_NO_SPACE = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Inspection:
    """What `inspect` found. Lengths are in words; the length of an entity is the number of words it covers, gaps excluded."""

    documents: int
    empty_documents: int
    """documents without an entity"""
    average_words: float
    longest_document: int
    entities: int
    nested: int
    """entities strictly inside or around another"""
    overlapping: int
    """entities that cross another: shared positions, no containment"""
    same: int
    """entities on exactly the positions of another"""
    discontinuous: int
    labels: dict[str, int]
    """entities of each label, by name; a label that is annotated but never occurs has 0"""
    most_entities: int
    """in one document"""
    longest_entity: int
    most_starting_together: int
    """most entities that start at one word"""
    most_fragments: int
    problems: tuple[Problem, ...]

    def to_json(self) -> dict[str, Any]:
        plain = asdict(self)
        plain["problems"] = [asdict(problem) for problem in self.problems]
        return plain


@dataclass(slots=True)
class _Tally:
    """The running figures over the documents."""

    words: int = 0
    longest_document: int = 0
    empty: int = 0
    most_entities: int = 0
    longest_entity: int = 0
    most_starting_together: int = 0
    most_fragments: int = 0
    discontinuous: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)


def inspect(corpus: Corpus, words_of: WordsOf | None = None) -> Inspection:
    """The statistics of the corpus; words are what `words_of` cuts, or the given ones, or what white space parts."""
    tally = _Tally()
    for document in corpus:
        _count(document, (words_of or given_or_spaced_words)(document), tally)
    documents = len(corpus)
    return Inspection(
        documents=documents,
        empty_documents=tally.empty,
        average_words=round(tally.words / documents, 2) if documents else 0.0,
        longest_document=tally.longest_document,
        entities=tally.labels.total(),
        nested=tally.kinds["nested"],
        overlapping=tally.kinds["overlapping"],
        same=tally.kinds["same"],
        discontinuous=tally.discontinuous,
        labels={label: tally.labels[label] for label in corpus.labels},
        most_entities=tally.most_entities,
        longest_entity=tally.longest_entity,
        most_starting_together=tally.most_starting_together,
        most_fragments=tally.most_fragments,
        problems=corpus.problems,
    )


def given_or_spaced_words(document: Document) -> Sequence[Fragment]:
    """The given words of a pre-tokenised document, else the stretches between white space."""
    if document.words is not None:
        return document.words
    return [match.span() for match in _NO_SPACE.finditer(document.text)]


def _count(document: Document, words: Sequence[Fragment], tally: _Tally) -> None:
    entities = document.entities
    tally.words += len(words)
    tally.longest_document = max(tally.longest_document, len(words))
    tally.most_entities = max(tally.most_entities, len(entities))
    if not entities:
        tally.empty += 1
        return
    tally.labels.update(entity.label for entity in entities)
    tally.discontinuous += sum(entity.discontinuous for entity in entities)
    tally.most_fragments = max(tally.most_fragments, *(len(entity.fragments) for entity in entities))
    covered = [_covered_words(entity.fragments, words) for entity in entities]
    tally.longest_entity = max(tally.longest_entity, *map(len, covered))
    together = Counter(indices[0] for indices in covered if indices)
    tally.most_starting_together = max(tally.most_starting_together, *together.values(), 0)
    tally.kinds.update(_kinds([entity.fragments for entity in entities]))


def _covered_words(fragments: Fragments, words: Sequence[Fragment]) -> list[int]:
    """The indices of the words that the fragments touch, each once."""
    indices: list[int] = []
    for start, end in fragments:
        first = bisect_right(words, start, key=lambda word: word[1])
        stop = bisect_left(words, end, key=lambda word: word[0])
        # Two fragments can touch one word when they do not sit on word boundaries.
        indices.extend(range(max(first, indices[-1] + 1 if indices else 0), stop))
    return indices


def _kinds(fragments: Sequence[Fragments]) -> Iterable[str]:
    """Every entity's relations to the others, by name."""
    members: dict[str, set[int]] = {"nested": set(), "overlapping": set(), "same": set()}
    for first, second, found in sharing_pairs(fragments):
        kind = {Relation.EQUAL: "same", Relation.CROSSING: "overlapping"}.get(found, "nested")
        members[kind].update((first, second))
    return [kind for kind, indices in members.items() for _ in indices]
