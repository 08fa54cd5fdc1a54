"""The documents of a recipe: train, dev and test, with augmentation and soft labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from anyner.corpora.corpus import Corpus, Problem
from anyner.corpora.joining import joined, source_documents
from anyner.corpora.reading import read, read_splits
from anyner.corpora.source_documents import neighbours_attached, with_distinct_docs
from anyner.corpora.synthetic import synthetic
from anyner.corpora.synthetic.words import Split
from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.storage.files import RECIPE
from anyner.text.config import TextConfig
from anyner.training.config import DataConfig, Recipe, Source
from anyner.training.data.augmentation import augmented

_FEW, _WHOLE = 4, 16
"""Sentences in a short dev passage, and in a stand-in for a source document if sentences have no `doc`."""


@dataclass(frozen=True, slots=True)
class DocumentSoftLabels:
    """The soft labels of one document."""

    entities: tuple[Entity, ...]
    """Their scores are probabilities."""
    covers_discontinuous: bool
    """Whether any of the models could predict discontinuous entities."""


def plain_of(one: Document | DocumentSoftLabels | None) -> list[Any] | None:
    """Plain data to hash as JSON: its order, unlike that of `repr`, is the same in every process."""
    if isinstance(one, Document):
        return [one.to_json(), one.before, one.after]
    return None if one is None else [one.covers_discontinuous, [entity.to_json() for entity in one.entities]]


@dataclass(frozen=True, slots=True)
class Splits:
    train: tuple[Document, ...]
    dev: tuple[Document, ...]
    test: tuple[Document, ...]
    problems: tuple[Problem, ...] = ()
    soft_labels: tuple[DocumentSoftLabels | None, ...] = ()
    """One entry for each training document, or empty."""
    augmented: int = 0
    """How many of the training documents, the last ones, come from augmentation."""

    @property
    def labels(self) -> tuple[str, ...]:
        return Corpus(self.train).labels


@dataclass(frozen=True, slots=True)
class Corpora:
    """The corpora of a recipe, as read from its files."""

    train: Corpus
    dev: Corpus
    test: Corpus

    @classmethod
    def read(cls, data: DataConfig) -> Corpora:
        return cls(*_read_corpora(data))


def read_data(data: DataConfig, text: TextConfig, dev_trains: bool = False) -> Splits:
    """Reads everything that `data` names. `dev_trains` adds dev to train; dev is then empty."""
    return split_data(Corpora.read(data), data, text, dev_trains)


def split_data(corpora: Corpora, data: DataConfig, text: TextConfig, dev_trains: bool = False) -> Splits:
    """The documents to train on and to score: dev held out, neighbours attached, augmentation and soft labels added."""
    files = (corpora.train, corpora.dev, corpora.test)
    train, dev, test = (corpus.documents for corpus in files)
    if data.held_out:
        train, dev = held_out((*train, *dev), data.held_out)
    if text.context:
        everything = [*train, *dev, *test]
        train, dev, test = (neighbours_attached(documents, text.context, everything) for documents in (train, dev, test))
    if dev_trains:
        train, dev = (*train, *dev), ()
    new = augmented(train, data.augmentation, text)
    problems = [problem for corpus in files for problem in corpus.problems]
    soft_labels: list[DocumentSoftLabels | None] = []
    if data.soft_labels:
        soft_labels, of_files = read_soft_labels(data.soft_labels, (*train, *new))
        problems += of_files
    return Splits((*train, *new), dev, test, tuple(problems), tuple(soft_labels), len(new))


def _read_corpora(data: DataConfig) -> list[Corpus]:
    """Train, dev and test."""
    if data.synthetic is not None:
        train = data.synthetic.sentences
        sizes: dict[Split, int] = {"train": train, "dev": max(1, train * 2 // 15), "test": max(1, train * 4 // 15)}
        return [synthetic(size, contiguous=data.synthetic.contiguous, split=split) for split, size in sizes.items()]
    if data.folder is not None:
        found = read_splits(data.folder)
        splits = {name: getattr(found, name) or Corpus(()) for name in ("train", "dev", "test")}
        return with_distinct_docs([(f"{data.folder}/{name}", corpus) for name, corpus in splits.items()])
    parts = (data.train, data.dev, data.test)
    files = iter(with_distinct_docs([(source.path, _read_source(source)) for sources in parts for source in sources]))
    return [_concatenated(list(islice(files, len(sources)))) for sources in parts]


def _concatenated(files: Sequence[Corpus]) -> Corpus:
    return Corpus(tuple(chain.from_iterable(files)), tuple(chain.from_iterable(file.problems for file in files)))


def _read_source(source: Source) -> Corpus:
    corpus = read(source.path, source.format)
    if source.labels is None:
        return corpus
    annotated = frozenset(source.labels)
    for number, document in enumerate(corpus, 1):
        if strange := next((e.label for e in document.entities if e.label not in annotated), None):
            where = f"{source.path}: document {document.id or number}"
            raise AnynerError(f"{where} has an entity {strange}, which is not in the `labels` of this source: add it there")
    return Corpus(tuple(replace(document, labels=annotated) for document in corpus), corpus.problems)


def thinned(documents: Sequence[Document], most: int) -> tuple[Document, ...]:
    """At most about `most` documents, evenly spaced; source documents stay whole."""
    sources = sources_of(documents)
    kept = set(list(dict.fromkeys(sources))[:: -(-len(documents) // most)]) if len(documents) > most else set(sources)
    return tuple(document for document, source in zip(documents, sources, strict=True) if source in kept)


def held_out(documents: Sequence[Document], share: float) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Train and dev: dev gets the last source documents, since new texts are more like the end of a corpus."""
    sources = sources_of(documents)
    in_order = list(dict.fromkeys(sources))
    last = set(in_order[-max(1, round(len(in_order) * share)) :])
    train, dev = (
        tuple(document for document, source in zip(documents, sources, strict=True) if (source in last) == held)
        for held in (False, True)
    )
    if not train:
        if len(in_order) == 1:
            raise AnynerError(f"{_all_one(documents)}: dev cannot be held out: add a dev file")
        raise AnynerError(f"data.held_out: a share of {share:g} leaves no document to train on")
    return train, dev


def _all_one(documents: Sequence[Document]) -> str:
    """Why documents of a single source cannot be split."""
    if len(documents) == 1:
        return "there is only one training document"
    if documents[0].doc is not None:
        return f"all {len(documents):,} training documents have the same source document (`doc`)"
    return f"all {len(documents):,} training documents have the same text"


def dev_documents(folder: Path, most: int) -> list[Document]:
    """Dev documents of the recipe in the folder, from its files or held out; synthetic ones if its files are gone."""
    try:
        data = Recipe.read(folder / RECIPE).data
        corpora = Corpora.read(data)
        documents = corpora.dev.documents
        if data.held_out:
            documents = held_out((*corpora.train, *documents), data.held_out)[1]
    except (AnynerError, OSError):
        documents = ()
    return list(islice(documents or synthetic(most).documents, most))


def sources_of(documents: Sequence[Document]) -> list[tuple[str, str]]:
    """A key for each document; equal keys stay on one side of a split: its source document (`doc`) or, without one, its text."""
    return [("doc", one.doc) if one.doc is not None else ("text", one.text) for one in documents]


def read_soft_labels(
    sources: Sequence[Source], documents: Sequence[Document]
) -> tuple[list[DocumentSoftLabels | None], list[Problem]]:
    """The soft labels of each document, None if no file has its text; and the problems of the files.

    Several predictions of one text are averaged; a missing entity counts as 0. For discontinuous entities only files that have
    any are averaged: the models of the others cannot express them.
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
    models = (len(predictions), covering)  # models that could have predicted the entity, by whether it is discontinuous
    averaged = tuple(replace(entity, score=total[key] / models[entity.discontinuous]) for key, entity in by_key.items())
    return DocumentSoftLabels(averaged, covers_discontinuous=covering > 0)


def dev_passages(documents: Sequence[Document], passages: bool = True) -> tuple[Document, ...]:
    """Dev in the lengths of real text: a third of the source documents sentence by sentence, a third in short passages, a third
    whole; sentences are separated by blanks or line breaks. Without `passages`, the documents unchanged.
    """
    if not passages:
        return tuple(documents)
    read: list[Document] = []
    for number, sentences in enumerate(source_documents(documents, _WHOLE)):
        size, separator = (1, _FEW, len(sentences))[number % 3], " \n"[number // 3 % 2]
        read += [joined(sentences[start : start + size], separator) for start in range(0, len(sentences), size)]
    return tuple(read)
