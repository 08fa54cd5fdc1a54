"""A refit: a training on train and dev, with the epoch and thresholds that an earlier one found best."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from training_processes import exit_code, killed_at, train

import anyner
from anyner.errors import AnynerError
from anyner.training.config import Recipe, RefitConfig
from anyner.training.cross_validation import read_refit, with_refit
from anyner.training.data.splits import read_data
from anyner.training.run import TrainingResult, build, run

LONGER = ("data.synthetic.sentences=40", "training.epochs=3", "training.encoder_lr=0.01", "training.head_lr=0.01")


@pytest.fixture(scope="module")
def first(tiny: Callable[..., Recipe], tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    return run(tiny(*LONGER), tmp_path_factory.mktemp("first") / "model")


@pytest.fixture(scope="module")
def second(first: TrainingResult, tiny: Callable[..., Recipe], tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    return run(with_refit(tiny(*LONGER), first.folder), tmp_path_factory.mktemp("second") / "model")


def test_a_refit_takes_epoch_and_thresholds(first: TrainingResult, second: TrainingResult) -> None:
    thresholds = anyner.load(first.folder, "cpu").config.thresholds
    assert read_refit(first.folder)[1] == RefitConfig(epoch=first.outcome.best_epoch + 1, thresholds=thresholds)
    assert anyner.load(second.folder, "cpu").config.thresholds == thresholds
    assert (second.outcome.epochs, second.outcome.best_epoch) == (first.outcome.best_epoch + 1, first.outcome.best_epoch)
    assert Recipe.read(second.folder / "recipe.yaml").refit == read_refit(first.folder)[1]


def test_a_refit_has_no_dev_score(second: TrainingResult) -> None:
    assert second.outcome.best_f1 is None
    assert json.loads((second.folder / "metrics.json").read_text(encoding="utf-8"))["dev"] is None
    lines = (second.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == second.outcome.epochs and all(json.loads(line)["dev_f1"] is None for line in lines)
    card = (second.folder / "README.md").read_text(encoding="utf-8")
    assert "refit on the training and dev documents" in card and "| precision |" not in card and "optimistic" not in card


def test_a_refit_learns_from_train_and_dev(tiny: Callable[..., Recipe]) -> None:
    recipe = tiny(*LONGER)
    apart, together = (read_data(recipe.data, recipe.text, dev_trains=dev_trains) for dev_trains in (False, True))
    assert together.train == (*apart.train, *apart.dev) and not together.dev and together.test == apart.test
    assert len(build(recipe, together)[1]) == len(build(recipe, apart)[1]) + len(apart.dev)


def test_a_refit_augments_dev_too(tiny: Callable[..., Recipe]) -> None:
    recipe = tiny("data.synthetic.sentences=150", "data.augmentation=0.4")
    apart, together = (read_data(recipe.data, recipe.text, dev_trains=dev_trains) for dev_trains in (False, True))
    assert (apart.augmented, together.augmented) == (60, 68)


def test_a_killed_and_resumed_refit_ends_bit_for_bit_the_same(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    recipe = tiny("refit.epoch=1", "refit.thresholds.score=0.4", "training.average_epochs=0.5", "data.synthetic.sentences=24")
    assert exit_code(train, recipe, tmp_path / "whole") == 0
    killed_at(recipe, tmp_path / "model", step=5)
    assert exit_code(train, recipe, tmp_path / "model", True) == 0
    assert (tmp_path / "model/model.safetensors").read_bytes() == (tmp_path / "whole/model.safetensors").read_bytes()


def test_a_folder_without_a_best_epoch_is_refused(second: TrainingResult, tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match="was itself trained on dev"):
        with_refit(tiny(), second.folder)
    with pytest.raises(AnynerError, match="not a model folder"):
        with_refit(tiny(), tmp_path)
    with pytest.raises(AnynerError, match=r"refit\.epoch is 3, but training\.epochs is 2"):
        tiny("refit.epoch=3")
    with pytest.raises(AnynerError, match=r"refit\.thresholds: unknown threshold 'scor'; the architecture has: score"):
        run(tiny("refit.epoch=1", "refit.thresholds.scor=0.4"), tmp_path / "model")


def test_another_architecture_is_refused(first: TrainingResult, tiny: Callable[..., Recipe]) -> None:
    with pytest.raises(AnynerError, match="is for biaffine: its epoch and thresholds do not fit locate_label"):
        with_refit(tiny("architecture=locate_label", "head=null"), first.folder)


def test_a_damaged_metrics_file_is_named(first: TrainingResult, tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes((first.folder / "config.json").read_bytes())
    with pytest.raises(AnynerError, match=r"metrics\.json does not name the best epoch"):
        with_refit(tiny(*LONGER), tmp_path)
    metrics = {"dev": {"f1": 0.5}, "training": {"best_epoch": -1}}
    (tmp_path / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    with pytest.raises(AnynerError, match=r"metrics\.json: 'epoch'"):
        with_refit(tiny(*LONGER), tmp_path)
