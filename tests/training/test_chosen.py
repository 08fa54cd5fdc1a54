"""A training that learns from dev as well, with what an earlier one found best there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from training_processes import exit_code, killed_at, train

import anyner
from anyner.errors import AnynerError
from anyner.training.chosen import chosen_by, with_dev
from anyner.training.config import Chosen, Recipe
from anyner.training.data import read_data
from anyner.training.run import TrainingResult, prepare, run

LONGER = ("training.epochs=4", "training.encoder_lr=0.01", "training.head_lr=0.01")


@pytest.fixture(scope="module")
def first(tiny: Callable[..., Recipe], tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    return run(tiny(*LONGER), tmp_path_factory.mktemp("first") / "model")


@pytest.fixture(scope="module")
def second(first: TrainingResult, tiny: Callable[..., Recipe], tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    return run(with_dev(tiny(*LONGER), first.folder), tmp_path_factory.mktemp("second") / "model")


def test_it_takes_over_epoch_and_thresholds(first: TrainingResult, second: TrainingResult) -> None:
    thresholds = anyner.load(first.folder, "cpu").config.thresholds
    assert chosen_by(first.folder) == Chosen(epoch=first.outcome.best_epoch + 1, thresholds=thresholds)
    assert anyner.load(second.folder, "cpu").config.thresholds == thresholds
    assert (second.outcome.epochs, second.outcome.best_epoch) == (first.outcome.best_epoch + 1, first.outcome.best_epoch)
    assert Recipe.read(second.folder / "recipe.yaml").chosen == chosen_by(first.folder)


def test_nothing_claims_a_score_on_dev(second: TrainingResult) -> None:
    assert second.outcome.best_f1 is None
    assert json.loads((second.folder / "metrics.json").read_text(encoding="utf-8"))["dev"] is None
    lines = (second.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == second.outcome.epochs and all(json.loads(line)["dev_f1"] is None for line in lines)
    card = (second.folder / "README.md").read_text(encoding="utf-8")
    assert "learned from the dev documents as well" in card and "| precision |" not in card and "flattering" not in card


def test_it_learns_from_train_and_dev(tiny: Callable[..., Recipe]) -> None:
    recipe = tiny(*LONGER)
    apart, together = (read_data(recipe.data, recipe.text, dev_trains=dev_trains) for dev_trains in (False, True))
    assert together.train == (*apart.train, *apart.dev) and not together.dev and together.test == apart.test
    assert len(prepare(recipe, together)[1]) == len(prepare(recipe, apart)[1]) + len(apart.dev)


def test_what_is_made_of_training_documents_is_made_of_dev_too(tiny: Callable[..., Recipe]) -> None:
    recipe = tiny("data.synthetic.train=80", "data.synthetic.dev=80", "data.coordinated=0.5")
    apart, together = (read_data(recipe.data, recipe.text, dev_trains=dev_trains) for dev_trains in (False, True))
    assert (apart.made, together.made) == (40, 80)


def test_killed_and_resumed_it_ends_bit_for_bit_the_same(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    recipe = tiny("chosen.epoch=1", "chosen.thresholds.score=0.4", "training.checkpoint_steps=3", "training.average_epochs=0.5")
    assert exit_code(train, recipe, tmp_path / "whole") == 0
    killed_at(recipe, tmp_path / "model", step=5)
    assert exit_code(train, recipe, tmp_path / "model", True) == 0
    assert (tmp_path / "model/model.safetensors").read_bytes() == (tmp_path / "whole/model.safetensors").read_bytes()


def test_what_was_not_chosen_cannot_be_taken_over(second: TrainingResult, tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match="learned from dev itself"):
        with_dev(tiny(), second.folder)
    with pytest.raises(AnynerError, match="not a model folder"):
        with_dev(tiny(), tmp_path)
    with pytest.raises(AnynerError, match=r"chosen\.epoch is 3, but training\.epochs 2"):
        tiny("chosen.epoch=3")
    with pytest.raises(AnynerError, match=r"chosen\.thresholds: there is no 'scor'; the architecture has: score"):
        run(tiny("chosen.epoch=1", "chosen.thresholds.scor=0.4"), tmp_path / "model")


def test_what_was_best_for_another_architecture_is_not_taken_over(first: TrainingResult, tiny: Callable[..., Recipe]) -> None:
    with pytest.raises(AnynerError, match="is of biaffine, so that it tells nothing for locate_label"):
        with_dev(tiny("architecture=locate_label", "head=null"), first.folder)


def test_a_model_that_does_not_say_its_epoch_is_named(first: TrainingResult, tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes((first.folder / "config.json").read_bytes())
    with pytest.raises(AnynerError, match=r"does not say which epoch was best \(metrics\.json\)"):
        with_dev(tiny(*LONGER), tmp_path)
    metrics = {"dev": {"f1": 0.5}, "training": {"best_epoch": -1}}
    (tmp_path / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    with pytest.raises(AnynerError, match=r"metrics\.json: 'epoch'"):
        with_dev(tiny(*LONGER), tmp_path)
