"""The statistics of a corpus: sizes, shapes of entities, lengths, labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from anyner.corpora.corpus import Corpus, Problem
from anyner.corpora.wordform import WordRuler
from anyner.fragments import Fragments
from anyner.overlap import Relation, sharing_pairs


@dataclass(frozen=True, slots=True)
class Inspection:
    """The statistics of a corpus. Lengths are in words; the length of an entity is the number of words it covers."""

    documents: int
    empty_documents: int
    """documents without an entity"""
    average_words: float
    longest_document: int
    entities: int
    nested: int
    """entities strictly inside or around another"""
    crossing: int
    """entities that cross another: shared positions, no containment"""
    same: int
    """entities on exactly the same positions as another"""
    discontinuous: int
    labels: dict[str, int]
    """entities of each label, by name; a label that is annotated but never occurs has 0"""
    most_entities: int
    """most entities in one document"""
    longest_entity: int
    most_starting_together: int
    """most entities that start at one word"""
    most_fragments: int
    problems: tuple[Problem, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def inspect(corpus: Corpus) -> Inspection:
    """The statistics of the corpus, in given words or, without any, in words separated by white space."""
    words: list[int] = []
    lengths: list[int] = []
    together: list[int] = []
    kinds: Counter[str] = Counter()
    for document in corpus:
        ruler = WordRuler(document)
        extents = [ruler.extent(entity) for entity in document.entities]
        words.append(len(ruler.words))
        lengths += [extent.length for extent in extents]
        together += Counter(extent.first for extent in extents).values()
        kinds.update(_kinds([entity.fragments for entity in document.entities]))
    entities = [entity for document in corpus for entity in document.entities]
    labels = Counter(entity.label for entity in entities)
    return Inspection(
        documents=len(corpus),
        empty_documents=sum(not document.entities for document in corpus),
        average_words=round(sum(words) / len(words), 2) if words else 0.0,
        longest_document=max(words, default=0),
        entities=len(entities),
        nested=kinds["nested"],
        crossing=kinds["crossing"],
        same=kinds["same"],
        discontinuous=sum(entity.discontinuous for entity in entities),
        labels={label: labels[label] for label in corpus.labels},
        most_entities=max((len(document.entities) for document in corpus), default=0),
        longest_entity=max(lengths, default=0),
        most_starting_together=max(together, default=0),
        most_fragments=max((len(entity.fragments) for entity in entities), default=0),
        problems=corpus.problems,
    )


def _kinds(fragments: Sequence[Fragments]) -> Iterator[str]:
    """The kinds of relations of every entity to the others, each kind once."""
    members: dict[str, set[int]] = {"nested": set(), "crossing": set(), "same": set()}
    for first, second, found in sharing_pairs(fragments):
        kind = {Relation.EQUAL: "same", Relation.CROSSING: "crossing"}.get(found, "nested")
        members[kind].update((first, second))
    return (kind for kind, indices in members.items() for _ in indices)
