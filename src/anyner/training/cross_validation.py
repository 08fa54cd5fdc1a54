"""Cross-validation: out-of-fold predictions as soft labels, and the best epoch and thresholds for a refit on all documents."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean

from anyner.corpora.corpus import counted, summary
from anyner.corpora.joining import joined, parted, source_documents
from anyner.corpora.writing import write
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.evaluation.scores import Score
from anyner.inference.recognizer import Recognizer
from anyner.inference.tuning import Tuner, tuned_on
from anyner.storage.files import CARD, CONFIG, METRICS, RECIPE, write_text
from anyner.storage.load import load, read_config
from anyner.training.auto import choices_line, completed
from anyner.training.checkpoint import has_checkpoint
from anyner.training.config import Recipe, RefitConfig
from anyner.training.data.augmentation import augmented
from anyner.training.data.splits import Corpora, Splits, dev_passages, plain_of, sources_of, split_data
from anyner.training.processes import check_one_process
from anyner.training.progress import Listener
from anyner.training.run import run
from anyner.training.side_by_side import gpus, side_by_side

REFIT = "refit.json"
"""The best epoch and thresholds, for `train --refit-from`."""
SOFT_LABELS = "soft_labels.jsonl"
"""The out-of-fold predictions, for `data.soft_labels`."""
_DOCUMENTS = "documents.sha256"
"""File in the folder of a fold: a hash of its training documents and of those held out."""


@dataclass(frozen=True, slots=True)
class CrossValidation:
    folder: Path
    refit: RefitConfig
    score: Score
    """Strict, over all out-of-fold documents, at the common thresholds and each fold's own best epoch: slightly optimistic."""
    discontinuous: Score
    """The same for discontinuous entities alone."""
    documents: int
    entities: int
    """Predicted entities in the soft labels, at the loosest thresholds."""


def cross_validate(recipe: Recipe, output: Path, folds: int = 5, listener: Listener | None = None) -> CrossValidation:
    """Trains a model for each fold of train and dev; writes `soft_labels.jsonl`, `refit.json` and the recipe into a folder.

    Several GPUs train folds side by side. The fold models stay in the folder until all files are written, so an interrupted call
    continues where it stopped.
    """
    listener = listener or Listener()
    split = Folds.of(recipe, output, folds, listener)
    if line := choices_line(recipe, split.recipe):
        listener.note(line)
    recipe = split.recipe
    if len(devices := gpus()) > 1:
        untrained = [fold + 1 for fold in range(folds) if not split.is_trained(fold)]
        trainings = {f"fold {fold}": partial(train_fold, recipe, output, folds, fold) for fold in untrained}
        side_by_side(trainings, devices, listener)
    predicted: list[Document] = []
    proposed, epochs = [], []
    for fold in range(folds):
        held_out = split.held_out(fold)
        listener.note(f"fold {fold + 1} of {folds}: {counted(len(held_out), 'held-out document')}")
        model = split.model(fold, listener)
        predicted.extend(_out_of_fold(model, held_out, recipe.training.passages))
        proposed.append(Tuner(model, dev_passages(held_out, recipe.training.passages)).read())
        epochs.append(_best_of_training(split.folder(fold)).epoch)
    tuned = tuned_on(proposed)
    refit = RefitConfig.of({"epoch": round(mean(epochs)), "thresholds": dict(tuned.thresholds)}, "refit")
    found = {
        "architecture": recipe.architecture,
        **refit.model_dump(mode="json"),
        "epochs_of_folds": epochs,
        "score": tuned.score.to_json(),
        "discontinuous": tuned.discontinuous.to_json(),
    }
    write(predicted, output / SOFT_LABELS, "jsonl")
    write_text(output / RECIPE, recipe.to_yaml())
    write_text(output / REFIT, json.dumps(found, indent=2) + "\n")
    for fold in range(folds):
        shutil.rmtree(split.folder(fold))
    entities = sum(len(document.entities) for document in predicted)
    return CrossValidation(output, refit, tuned.score, tuned.discontinuous, len(predicted), entities)


def train_fold(recipe: Recipe, output: Path, folds: int, fold: int, listener: Listener | None = None) -> Path:
    """Trains the model of one fold, counted from 1. Folds can train in parallel; `cross_validate` then uses their models."""
    listener = listener or Listener()
    split = Folds.of(recipe, output, folds, listener)
    if not 1 <= fold <= folds:
        raise AnynerError(f"fold: expected 1 to {folds}, got {fold}")
    split.model(fold - 1, listener)
    return split.folder(fold - 1)


def with_refit(recipe: Recipe, folder: Path) -> Recipe:
    """The recipe with the epoch and thresholds found by a cross-validation or a finished training in a folder.

    A training with it learns from train and dev.
    """
    architecture, refit = read_refit(folder)
    if architecture != recipe.architecture:
        raise AnynerError(f"{folder} is for {architecture}: its epoch and thresholds do not fit {recipe.architecture}")
    return recipe.updated({"refit": refit.model_dump()}, "recipe")


def read_refit(folder: Path) -> tuple[str, RefitConfig]:
    """The architecture, and its best epoch and thresholds, from a folder of a cross-validation or a finished training."""
    path = folder / REFIT
    if not path.is_file() and any(folder.glob("fold-*-of-*")):
        raise AnynerError(f"{folder} has no {REFIT} yet: run anyner cross-validate again, without --fold")
    if not path.is_file():
        return read_config(folder).architecture, _best_of_training(folder)
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        refit = RefitConfig.of({key: plain[key] for key in RefitConfig.model_fields}, str(path))
        return str(plain["architecture"]), refit
    except (ValueError, KeyError, TypeError):
        raise AnynerError(f"{path} was not written by anyner cross-validate, or is damaged") from None


def _best_of_training(folder: Path) -> RefitConfig:
    config = read_config(folder)
    if has_checkpoint(folder):
        raise AnynerError(f"{folder} holds an unfinished training: resume it first")
    try:
        metrics = json.loads((folder / METRICS).read_text(encoding="utf-8"))
        scored, epoch = metrics["dev"] is not None, metrics["training"]["best_epoch"] + 1
    except (OSError, ValueError, KeyError, TypeError):
        raise AnynerError(f"{folder / METRICS} does not name the best epoch") from None
    if not scored:
        raise AnynerError(f"{folder} was itself trained on dev: it has no dev score to take an epoch from")
    return RefitConfig.of({"epoch": epoch, "thresholds": dict(config.thresholds)}, str(folder / METRICS))


def _out_of_fold(model: Recognizer, documents: Sequence[Document], passages: bool) -> list[Document]:
    """Everything the model predicts at its loosest thresholds; sentences of one source document are read together."""
    loosest = {threshold.name: threshold.loosest for threshold in model.runtime.head.config.thresholds()}
    sources = list(source_documents(documents, 1)) if passages else [[document] for document in documents]
    predicted = model.stream((joined(source) for source in sources), thresholds=loosest, overlap="all")
    return [document for source, whole in zip(sources, predicted, strict=True) for document in parted(whole, source)]


@dataclass(frozen=True, slots=True)
class Folds:
    """Train and dev split into folds, and the folders of their models."""

    recipe: Recipe
    output: Path
    data: Splits
    """Not augmented: each fold's model gets augmentation of its own training documents."""
    fold_of: tuple[int, ...]
    """The fold of each document."""
    count: int

    @classmethod
    def of(cls, recipe: Recipe, output: Path, count: int, listener: Listener) -> Folds:
        """Reads the data. Everything is checked here, before any training."""
        check_one_process("cross-validation")
        if recipe.refit is not None:
            raise AnynerError("the recipe already has `refit`: there is nothing left to cross-validate")
        for name in (REFIT, SOFT_LABELS, CONFIG, RECIPE):
            if (output / name).exists():
                raise AnynerError(f"{output} already holds {name}: choose another output folder")
        with listener.running("reading the corpus"):
            corpora = Corpora.read(recipe.data)
        recipe = completed(recipe, corpora)
        data = split_data(corpora, recipe.data.updated({"augmentation": 0.0}, "data"), recipe.text, dev_trains=True)
        if data.problems:
            listener.note(summary(data.problems))
        return cls.split(recipe, output, data, count)

    @classmethod
    def split(cls, recipe: Recipe, output: Path, data: Splits, count: int) -> Folds:
        folds = cls(recipe, output, data, fold_numbers(data.train, count), count)
        for fold in range(count):
            if not any(document.entities for document in folds.held_out(fold)):
                raise AnynerError(f"fold {fold + 1} of {count} has no entity: use fewer folds")
        return folds

    def folder(self, fold: int) -> Path:
        """Its name has the number of folds: a model of another split may have been trained on what it would predict."""
        return self.output / f"fold-{fold + 1}-of-{self.count}"

    def held_out(self, fold: int) -> tuple[Document, ...]:
        return tuple(document for document, own in zip(self.data.train, self.fold_of, strict=True) if own == fold)

    def splits(self, fold: int) -> Splits:
        """All other folds to train on, with their soft labels and augmentation; the fold itself as dev."""
        others = [place for place, own in enumerate(self.fold_of) if own != fold]
        train = tuple(self.data.train[place] for place in others)
        new = augmented(train, self.recipe.data.augmentation, self.recipe.text)
        soft = self.data.soft_labels
        own_soft = tuple(soft[place] for place in others) + (None,) * len(new) if soft else ()
        return Splits((*train, *new), self.held_out(fold), (), soft_labels=own_soft, augmented=len(new))

    def is_trained(self, fold: int) -> bool:
        return (self.folder(fold) / CARD).exists() and not has_checkpoint(self.folder(fold))  # the card is written last

    def model(self, fold: int, listener: Listener) -> Recognizer:
        """The model that was not trained on this fold: trained, resumed, or loaded if an earlier call finished it."""
        folder, training, splits = self.folder(fold), self.recipe.training, self.splits(fold)
        own = self.recipe.updated({"training": {**training.model_dump(), "seed": training.seed + fold}}, "recipe")
        known, own_hash = folder / _DOCUMENTS, _hash_of(splits)
        if (folder / RECIPE).is_file() and Recipe.read(folder / RECIPE) != own:
            raise AnynerError(f"{self.output} holds models of another recipe: choose another output folder")
        if (folder / RECIPE).is_file() and not (known.is_file() and known.read_text(encoding="utf-8") == own_hash):
            # one document more or less shifts all later ones to other folds
            raise AnynerError(f"{self.output} holds models trained on other documents: choose another output folder")
        if not self.is_trained(fold):
            write_text(known, own_hash)
            run(own, folder, has_checkpoint(folder), listener, splits)
        return load(folder)


def fold_numbers(documents: Sequence[Document], folds: int) -> tuple[int, ...]:
    """The fold of each document, assigned round-robin by source document (`doc`); without a `doc`, equal texts share a fold."""
    sources = sources_of(documents)
    fold_of = {source: number % folds for number, source in enumerate(dict.fromkeys(sources))}
    if len(fold_of) < folds:
        raise AnynerError(f"{len(fold_of)} documents in train and dev are too few for {folds} folds")
    return tuple(fold_of[source] for source in sources)


def _hash_of(splits: Splits) -> str:
    """A hash of the documents on each side and of their soft labels."""
    sides, soft = [list(map(plain_of, side)) for side in (splits.train, splits.dev)], list(map(plain_of, splits.soft_labels))
    return hashlib.sha256(json.dumps([sides, soft]).encode()).hexdigest()
