"""What other models hold for entities of the training documents: files of the same texts whose entities have scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from anyner.corpora.corpus import Problem
from anyner.corpora.reading import read
from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.training.config import Source


@dataclass(frozen=True, slots=True)
class DocumentOpinion:
    """What is held of one document."""

    entities: tuple[Entity, ...]
    """Those that may be there, with how likely each is as its score."""
    know_gaps: bool
    """Whether any who hold it can hold that an entity has gaps."""


def read_opinions(sources: Sequence[Source], documents: Sequence[Document]) -> tuple[list[DocumentOpinion | None], list[Problem]]:
    """For each document what the files hold for entities of its text, None where no file has it; and the files' problems.

    Where a text is there several times, in one file or in several, likelihoods are averaged: an entity that is not there counts
    as 0. For entities with gaps only those files count that have any: the others are of models that cannot express them.
    """
    said: dict[str, list[_Said]] = defaultdict(list)
    problems: list[Problem] = []
    for source in sources:
        corpus = read(source.path, source.format)
        problems.extend(corpus.problems)
        gaps = any(entity.discontinuous for document in corpus for entity in document.entities)
        for document in corpus:
            said[document.text].append(_Said(document.entities, gaps))
    found = [_averaged(said[document.text]) if document.text in said else None for document in documents]
    if all(opinion is None for opinion in found):
        raise AnynerError(f"data.opinions: {sources[0].path} has none of the training texts")
    if not any(opinion.entities for opinion in found if opinion is not None):
        raise AnynerError(f"data.opinions: {sources[0].path} holds no entity of the training texts: its models learned nothing")
    return found, problems


@dataclass(frozen=True, slots=True)
class _Said:
    entities: tuple[Entity, ...]
    know_gaps: bool
    """Whether any entity of the file has gaps."""


def _averaged(heard: Sequence[_Said]) -> DocumentOpinion:
    total: dict[tuple[str, object], float] = defaultdict(float)
    one_of: dict[tuple[str, object], Entity] = {}
    for said in heard:
        for entity in said.entities:
            one_of[entity.key] = entity
            total[entity.key] += 1.0 if entity.score is None else min(1.0, max(0.0, entity.score))
    asked = {False: len(heard), True: sum(said.know_gaps for said in heard)}  # whether an entity has gaps: who could tell
    likely = tuple(replace(entity, score=total[key] / asked[entity.discontinuous]) for key, entity in one_of.items())
    return DocumentOpinion(likely, know_gaps=bool(asked[True]))
