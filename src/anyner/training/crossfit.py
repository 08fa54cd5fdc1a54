"""Opinions on training documents by models that did not learn from them: each fold is read by a model of the others."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anyner.corpora.writing import write
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.evaluation.evaluate import evaluate_documents
from anyner.evaluation.scores import Score
from anyner.inference.recognizer import Recognizer
from anyner.storage.files import CARD, RECIPE
from anyner.storage.load import load
from anyner.training.checkpoint import has_checkpoint
from anyner.training.config import Recipe
from anyner.training.data import DataCheck, Splits, joined_sentences, read_data
from anyner.training.progress import Listener, Silent
from anyner.training.run import run

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
    parts = _parts(recipe, output, folds, listener)
    said: list[Document] = []
    total = Score(0, 0, 0)
    for number, part in enumerate(parts):
        listener.note(f"fold {number + 1} of {folds}: {len(part):,} documents, read by a model of the other folds")
        model = _model_of_others(recipe, parts, number, _folder(output, number, folds), listener)
        loosest = {threshold.name: threshold.loosest for threshold in model.model.head.config.thresholds()}
        said.extend(model.stream(part, thresholds=loosest, overlap="all"))
        total += evaluate_documents(part, list(model.stream(part)), None).strict
    write(said, output / OPINIONS, "jsonl")
    for number in range(folds):
        shutil.rmtree(_folder(output, number, folds))
    entities = sum(len(document.entities) for document in said)
    return CrossFitted(output / OPINIONS, len(said), entities, total)


def fit_fold(recipe: Recipe, output: Path, folds: int, fold: int, listener: Listener | None = None) -> Path:
    """Trains the model of one fold alone, the first being 1: folds can be trained side by side, for `crossfit` to take up."""
    if not 1 <= fold <= folds:
        raise AnynerError(f"there is no fold {fold} of {folds}: the first is 1")
    listener = listener or Silent()
    parts = _parts(recipe, output, folds, listener)
    folder = _folder(output, fold - 1, folds)
    _model_of_others(recipe, parts, fold - 1, folder, listener)
    return folder


def _parts(recipe: Recipe, output: Path, folds: int, listener: Listener) -> list[tuple[Document, ...]]:
    """The training documents in folds."""
    if (output / OPINIONS).exists():
        raise AnynerError(f"{output} already holds {OPINIONS}: choose another output folder")
    data = read_data(recipe.data.as_they_are(), recipe.text)
    for line in DataCheck(problems=data.problems).lines():
        listener.note(line)
    return folded(data.train, folds)


def _folder(output: Path, number: int, folds: int) -> Path:
    """Of one fold's model; with another number of folds it would have learned from what it is to read."""
    return output / f"fold-{number + 1}-of-{folds}"


def folded(documents: Sequence[Document], folds: int) -> list[tuple[Document, ...]]:
    """The larger documents (`doc`), whole, dealt out in turn; one without `doc` stands for itself and for those of equal text."""
    homes = [("doc", one.doc) if one.doc is not None else ("text", one.text) for one in documents]
    place = {home: number % folds for number, home in enumerate(dict.fromkeys(homes))}
    if len(place) < folds:
        raise AnynerError(f"{len(place)} training documents are too few for {folds} folds")
    dealt = [(document, place[home]) for document, home in zip(documents, homes, strict=True)]
    return [tuple(document for document, fold in dealt if fold == own) for own in range(folds)]


def _model_of_others(
    recipe: Recipe, parts: Sequence[tuple[Document, ...]], number: int, folder: Path, listener: Listener
) -> Recognizer:
    """Trained on all folds but one, whose documents are its dev; taken as it is if an earlier call has trained it."""
    seed = recipe.training.seed + number
    own = recipe.model_copy(update={"training": recipe.training.updated({"seed": seed}, "training")})
    if (folder / RECIPE).is_file() and Recipe.read(folder / RECIPE) != own:
        raise AnynerError(f"{folder.parent} holds the models of another recipe: choose another output folder")
    unfinished = has_checkpoint(folder)
    if unfinished or not (folder / CARD).exists():  # the card comes last
        train = tuple(document for other, part in enumerate(parts) if other != number for document in part)
        joined = joined_sentences(train, recipe.data, recipe.text)
        run(own, folder, unfinished, listener, Splits((*train, *joined), parts[number], (), made=len(joined)))
    return load(folder)
