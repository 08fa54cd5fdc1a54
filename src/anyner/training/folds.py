"""Documents in folds, each read by a model that learned from the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anyner.document import Document
from anyner.errors import AnynerError
from anyner.inference.recognizer import Recognizer
from anyner.storage.files import CARD, RECIPE
from anyner.storage.load import load
from anyner.training.checkpoint import has_checkpoint
from anyner.training.config import Recipe
from anyner.training.data import Splits, joined_sentences
from anyner.training.progress import Listener
from anyner.training.run import run


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
    def of(cls, recipe: Recipe, output: Path, data: Splits, count: int) -> Folds:
        return cls(recipe, output, data, places(data.train, count), count)

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
        unfinished = has_checkpoint(folder)
        if unfinished or not (folder / CARD).exists():  # the card comes last
            run(own, folder, unfinished, listener, self.splits(number))
        return load(folder)

    def splits(self, number: int) -> Splits:
        """What the fold's model learns from, and as dev what it does not."""
        others = [own for own, place in enumerate(self.places) if place != number]
        train = tuple(self.data.train[own] for own in others)
        joined = joined_sentences(train, self.recipe.data, self.recipe.text)
        heard = tuple(self.data.opinions[own] for own in others) + (None,) * len(joined) if self.data.opinions else ()
        return Splits((*train, *joined), self.documents(number), (), opinions=heard, made=len(joined))


def places(documents: Sequence[Document], folds: int) -> tuple[int, ...]:
    """The larger documents (`doc`), whole, dealt out in turn; one without `doc` stands for itself and for those of equal text."""
    homes = [("doc", one.doc) if one.doc is not None else ("text", one.text) for one in documents]
    place = {home: number % folds for number, home in enumerate(dict.fromkeys(homes))}
    if len(place) < folds:
        raise AnynerError(f"{len(place)} training documents are too few for {folds} folds")
    return tuple(place[home] for home in homes)
