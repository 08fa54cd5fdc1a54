"""Epoch and thresholds by cross-validation: documents of train and dev are judged by models that did not learn from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import anyner
from anyner.corpora.synthetic import synthetic_splits
from anyner.corpora.writing import write
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.evaluation.evaluate import evaluate_documents
from anyner.evaluation.scores import NOTHING
from anyner.training import folds as module
from anyner.training.choosing import ByFolds, choose, fit_fold
from anyner.training.chosen import chosen_by, with_dev
from anyner.training.config import Recipe
from anyner.training.crossfit import crossfit
from anyner.training.data import Splits, dev_passages
from anyner.training.run import run

RECIPE = Recipe.of(
    {
        "data": {"synthetic": {"train": 60, "dev": 20, "test": 1, "contiguous": True}},
        "encoder": {"fresh_width": 32, "fresh_layers": 1, "fresh_vocabulary": 400},
        "training": {"epochs": 6, "batch_sentences": 4, "head_lr": 0.004, "encoder_lr": 0.004},
    },
    "recipe",
)


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> ByFolds:
    return choose(RECIPE, tmp_path_factory.mktemp("folds"), folds=2)


def test_its_score_is_that_of_documents_not_learned_from(chosen: ByFolds) -> None:
    made = synthetic_splits((60, 20, 1), 0, True)
    documents = (*made.train.documents, *made.dev.documents)
    total = NOTHING
    for number in range(2):
        part = dev_passages(documents[number::2])
        model = anyner.load(chosen.path.parent / f"fold-{number + 1}-of-2", "cpu")
        total += evaluate_documents(part, model.predict(list(part), thresholds=chosen.chosen.thresholds)).strict
    assert chosen.score == total and chosen.score.gold == sum(len(one.entities) for one in documents)
    assert chosen.score.f1 > 0.2 and chosen.discontinuous == NOTHING


def test_the_last_training_takes_it_over(chosen: ByFolds, tmp_path: Path) -> None:
    epochs = [chosen_by(chosen.path.parent / f"fold-{number}-of-2").epoch for number in (1, 2)]
    assert chosen.chosen.epoch == round(sum(epochs) / 2)
    taken = with_dev(RECIPE, chosen.path.parent)
    assert taken.chosen == chosen.chosen
    assert Recipe.read(chosen.path.parent / "recipe.yaml") == RECIPE
    last = run(taken, tmp_path / "last")
    assert last.outcome.epochs == chosen.chosen.epoch
    assert dict(anyner.load(last.folder, "cpu").config.thresholds) == chosen.chosen.thresholds


def test_a_fold_can_be_trained_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = RECIPE.updated(
        {"data": {"synthetic": {"train": 80, "dev": 20, "test": 1}, "coordinated": 0.5}, "training": {"epochs": 1}}, "recipe"
    )
    learned: list[Splits] = []

    def spied(recipe: Recipe, folder: Path, resume: bool, listener: object, data: Splits) -> object:
        learned.append(data)
        return run(recipe, folder, resume, None, data)

    monkeypatch.setattr(module, "run", spied)
    assert fit_fold(few, tmp_path, 2, 2).name == "fold-2-of-2"
    choose(few, tmp_path, 2)
    assert [len(data.train) - data.made for data in learned] == [50, 50]
    assert all(data.made and not {one.text for one in data.train} & {one.text for one in data.dev} for data in learned)
    assert len({one.text for data in learned for one in data.dev}) == 100


def test_what_cannot_be_chosen_is_told(chosen: ByFolds, tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match=r"already holds chosen\.json"):
        choose(RECIPE, chosen.path.parent, folds=2)
    with pytest.raises(AnynerError, match="has `chosen` already"):
        choose(with_dev(RECIPE, chosen.path.parent), tmp_path / "again", folds=2)
    with pytest.raises(AnynerError, match="is of biaffine, so that it tells nothing for set_gner"):
        with_dev(Recipe.of({**RECIPE.model_dump(), "architecture": "set_gner"}, "recipe"), chosen.path.parent)
    told = json.loads(chosen.path.read_text(encoding="utf-8"))
    for wrong in ("{", "[]", json.dumps({**told, "thresholds": None}), json.dumps({"epoch": 1})):
        (tmp_path / "chosen.json").write_text(wrong, encoding="utf-8")
        with pytest.raises(AnynerError, match=r"chosen\.json"):
            with_dev(RECIPE, tmp_path)


def small(folder: Path, documents: Sequence[Document]) -> Recipe:
    """A recipe for a corpus on the disk."""
    folder.mkdir(exist_ok=True)
    for name, part in (("train", documents[:-4]), ("dev", documents[-4:])):
        write(part, folder / f"{name}.jsonl", "jsonl")
    return Recipe.of({"data": {"folder": str(folder)}, "training": {"epochs": 1, "head_lr": 0.01}}, "recipe")


def test_models_are_not_taken_up_once_documents_have_changed(tmp_path: Path) -> None:
    """A document less, and every later one would lie in another fold: the models would read what they learned from."""
    documents = synthetic_splits((20, 1, 1), 0, True).train.documents
    fit_fold(small(tmp_path / "data", documents), tmp_path / "out", 2, 1)
    for others in (documents[1:], (documents[0].with_entities(()), *documents[1:])):
        recipe = small(tmp_path / "data", others)
        for again in (choose, crossfit):
            with pytest.raises(AnynerError, match="models that learned from other documents"):
                again(recipe, tmp_path / "out", 2)
    with pytest.raises(AnynerError, match="models that learned from other documents"):
        crossfit(small(tmp_path / "data", documents), tmp_path / "out", 2)  # its models do not learn from dev


@pytest.mark.parametrize("there", ["opinions.jsonl", "config.json", "recipe.yaml"])
def test_nothing_is_written_over(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("mine", encoding="utf-8")
    with pytest.raises(AnynerError, match=f"already holds {there}"):
        choose(RECIPE, tmp_path, folds=2)
    assert [path.name for path in tmp_path.iterdir()] == [there]


def test_opinions_do_not_delete_what_was_chosen(chosen: ByFolds) -> None:
    with pytest.raises(AnynerError, match=r"already holds chosen\.json"):
        crossfit(RECIPE, chosen.path.parent, folds=2)
    assert (chosen.path.parent / "fold-1-of-2").is_dir()
