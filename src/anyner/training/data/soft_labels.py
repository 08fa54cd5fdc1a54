"""Soft labels: the training texts with entities and probabilities that other models predicted."""

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
class DocumentSoftLabels:
    """The soft labels of one document."""

    entities: tuple[Entity, ...]
    """Their scores are probabilities."""
    covers_discontinuous: bool
    """Whether any of the models could predict discontinuous entities."""


def read_soft_labels(
    sources: Sequence[Source], documents: Sequence[Document]
) -> tuple[list[DocumentSoftLabels | None], list[Problem]]:
    """The soft labels of each document, None where no file has its text; and the files' problems.

    Several predictions of one text are averaged; a missing entity counts as 0. For discontinuous entities only files that have
    any are averaged: models behind the others cannot express them.
    """
    predicted: dict[str, list[DocumentSoftLabels]] = defaultdict(list)
    problems: list[Problem] = []
    for source in sources:
        corpus = read(source.path, source.format)
        problems.extend(corpus.problems)
        discontinuous = any(entity.discontinuous for document in corpus for entity in document.entities)
        for document in corpus:
            predicted[document.text].append(DocumentSoftLabels(document.entities, discontinuous))
    found = [_averaged(predicted[document.text]) if document.text in predicted else None for document in documents]
    if all(soft is None for soft in found):
        raise AnynerError(
            f"data.soft_labels: {sources[0].path} has none of the training texts: were they predicted on other data?"
        )
    if not any(soft.entities for soft in found if soft is not None):
        raise AnynerError(f"data.soft_labels: {sources[0].path} has no entity in the training texts: its models learned nothing")
    return found, problems


def _averaged(predictions: Sequence[DocumentSoftLabels]) -> DocumentSoftLabels:
    total: dict[tuple[str, object], float] = defaultdict(float)
    by_key: dict[tuple[str, object], Entity] = {}
    for entity in (entity for one in predictions for entity in one.entities):
        by_key[entity.key] = entity
        total[entity.key] += 1.0 if entity.score is None else min(1.0, max(0.0, entity.score))
    covering = sum(one.covers_discontinuous for one in predictions)
    models = {
        False: len(predictions),
        True: covering,
    }  # models that could have predicted an entity, by whether it is discontinuous
    averaged = tuple(replace(entity, score=total[key] / models[entity.discontinuous]) for key, entity in by_key.items())
    return DocumentSoftLabels(averaged, covers_discontinuous=covering > 0)
