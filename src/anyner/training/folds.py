"""Documents in folds, each read by a model that learned from the others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.inference.recognizer import Recognizer
from anyner.storage.files import CARD, RECIPE, write_text
from anyner.storage.load import load
from anyner.training.checkpoint import has_checkpoint
from anyner.training.config import Recipe
from anyner.training.data import DataCheck, Splits, joined_sentences
from anyner.training.progress import Listener
from anyner.training.run import run

DOCUMENTS = "documents.sha256"
"""Beside the model of a fold: which documents it learned from, and which are left for it to read."""


@dataclass(frozen=True, slots=True)
class Folds:
    """What models of folds learn from, and where they go."""

    recipe: Recipe
    output: Path
    data: Splits
    """Nothing made among the documents to train on: each fold's model gets what is made from its own."""
    places: tuple[int, ...]
    """The fold of each of these documents."""
    count: int

    @classmethod
    def of(cls, recipe: Recipe, output: Path, data: Splits, count: int, listener: Listener) -> Folds:
        """Dealt out. What is wrong in the files is told, and folds with nothing to find are refused, before any training."""
        for line in DataCheck(problems=data.problems).lines():
            listener.note(line)
        dealt = cls(recipe, output, data, places(data.train, count), count)
        for number in range(count):
            if not any(document.entities for document in dealt.documents(number)):
                raise AnynerError(f"fold {number + 1} of {count} has no entity: take fewer folds")
        return dealt

    def folder(self, number: int) -> Path:
        """Of one fold's model; with another number of folds it would have learned from what it is to read."""
        return self.output / f"fold-{number + 1}-of-{self.count}"

    def documents(self, number: int) -> tuple[Document, ...]:
        """Those that the fold's model reads, and does not learn from."""
        return tuple(document for document, place in zip(self.data.train, self.places, strict=True) if place == number)

    def fit(self, fold: int, listener: Listener) -> Path:
        """Trains the model of one fold alone, the first being 1: folds can be trained side by side, to be taken up later."""
        if not 1 <= fold <= self.count:
            raise AnynerError(f"there is no fold {fold} of {self.count}: the first is 1")
        self.model(fold - 1, listener)
        return self.folder(fold - 1)

    def model(self, number: int, listener: Listener) -> Recognizer:
        """Trained on all folds but this, whose documents are its dev; taken as it is if an earlier call has trained it."""
        folder, training = self.folder(number), self.recipe.training
        own = self.recipe.model_copy(update={"training": training.updated({"seed": training.seed + number}, "training")})
        if (folder / RECIPE).is_file() and Recipe.read(folder / RECIPE) != own:
            raise AnynerError(f"{self.output} holds the models of another recipe: choose another output folder")
        splits, known = self.splits(number), folder / DOCUMENTS
        own_documents = _number_of(splits)
        if (folder / RECIPE).is_file() and not (known.is_file() and known.read_text(encoding="utf-8") == own_documents):
            # documents are dealt out by their places: one more, and the model would have learned from what it is to read
            raise AnynerError(f"{self.output} holds models that learned from other documents: choose another output folder")
        unfinished = has_checkpoint(folder)
        if unfinished or not (folder / CARD).exists():  # the card comes last
            write_text(known, own_documents)
            run(own, folder, unfinished, listener, splits)
        return load(folder)

    def splits(self, number: int) -> Splits:
        """What the fold's model learns from, and as dev what it does not."""
        others = [own for own, place in enumerate(self.places) if place != number]
        train = tuple(self.data.train[own] for own in others)
        joined = joined_sentences(train, self.recipe.data, self.recipe.text)
        heard = tuple(self.data.opinions[own] for own in others) + (None,) * len(joined) if self.data.opinions else ()
        return Splits((*train, *joined), self.documents(number), (), opinions=heard, made=len(joined))


def refuse_what_is_there(output: Path, *names: str) -> None:
    """Results and models that would be written over, or taken for others."""
    for name in names:
        if (output / name).exists():
            raise AnynerError(f"{output} already holds {name}: choose another output folder")


def places(documents: Sequence[Document], folds: int) -> tuple[int, ...]:
    """The larger documents (`doc`), whole, dealt out in turn; one without `doc` stands for itself and for those of equal text."""
    homes = [("doc", one.doc) if one.doc is not None else ("text", one.text) for one in documents]
    place = {home: number % folds for number, home in enumerate(dict.fromkeys(homes))}
    if len(place) < folds:
        raise AnynerError(f"{len(place)} training documents are too few for {folds} folds")
    return tuple(place[home] for home in homes)


def _number_of(splits: Splits) -> str:
    """The same for the same documents on the same sides, with the same opinions on them."""
    sides = [[_plain(document) for document in side] for side in (splits.train, splits.dev)]
    held = [None if one is None else [one.know_gaps, _entities(one.entities)] for one in splits.opinions]
    return hashlib.sha256(json.dumps([sides, held]).encode()).hexdigest()


def _plain(document: Document) -> list[object]:
    labels = None if document.labels is None else sorted(document.labels)
    return [document.text, document.words, document.doc, document.before, document.after, labels, _entities(document.entities)]


def _entities(entities: Sequence[Entity]) -> list[object]:
    return [[entity.label, entity.fragments, entity.score] for entity in entities]
