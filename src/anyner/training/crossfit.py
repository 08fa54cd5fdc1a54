"""Opinions on training documents by models that did not learn from them: each fold is read by a model of the others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from anyner.corpora.joining import joined, parted, source_documents
from anyner.corpora.writing import write
from anyner.document import Document
from anyner.evaluation.evaluate import evaluate_documents
from anyner.evaluation.scores import NOTHING, Score
from anyner.inference.recognizer import Recognizer
from anyner.training.chosen import CHOSEN
from anyner.training.config import Recipe
from anyner.training.data import read_data
from anyner.training.folds import Folds, refuse_what_is_there
from anyner.training.progress import Listener, Silent

OPINIONS = "opinions.jsonl"


@dataclass(frozen=True, slots=True)
class CrossFitted:
    path: Path
    documents: int
    entities: int
    """Those that a model holds for possible, however unlikely."""
    score: Score
    """Strict, of each model at its own thresholds on the documents that it did not learn from, all together."""


def crossfit(recipe: Recipe, output: Path, folds: int = 4, listener: Listener | None = None) -> CrossFitted:
    """Writes `opinions.jsonl`, for `data.opinions` of another training, into a folder.

    The folder holds the models until all are trained: what was interrupted goes on with the same call.
    """
    listener = listener or Silent()
    dealt = _dealt(recipe, output, folds, listener)
    said: list[Document] = []
    total = NOTHING
    for number in range(folds):
        part = dealt.documents(number)
        listener.note(f"fold {number + 1} of {folds}: {len(part):,} documents, read by a model of the other folds")
        model = dealt.model(number, listener)
        loosest = {threshold.name: threshold.loosest for threshold in model.model.head.config.thresholds()}
        together = list(source_documents(part, 1)) if recipe.training.passages else [[document] for document in part]
        said.extend(_read(model, together, thresholds=loosest, overlap="all"))
        total += evaluate_documents(list(chain(*together)), list(_read(model, together)), None).strict
    write(said, output / OPINIONS, "jsonl")
    for number in range(folds):
        shutil.rmtree(dealt.folder(number))
    entities = sum(len(document.entities) for document in said)
    return CrossFitted(output / OPINIONS, len(said), entities, total)


def _read(model: Recognizer, together: Sequence[Sequence[Document]], **chosen: Any) -> Iterator[Document]:
    """What the model says of documents, those of one source document read together as in training."""
    whole = (joined(documents) for documents in together)
    for documents, found in zip(together, model.stream(whole, **chosen), strict=True):
        yield from parted(found, documents)


def fit_fold(recipe: Recipe, output: Path, folds: int, fold: int, listener: Listener | None = None) -> Path:
    """Trains the model of one fold alone, the first being 1: folds can be trained side by side, for `crossfit` to take up."""
    listener = listener or Silent()
    return _dealt(recipe, output, folds, listener).fit(fold, listener)


def _dealt(recipe: Recipe, output: Path, folds: int, listener: Listener) -> Folds:
    """The training documents in folds."""
    refuse_what_is_there(output, OPINIONS, CHOSEN)
    return Folds.of(recipe, output, read_data(recipe.data.as_they_are(), recipe.text), folds, listener)
