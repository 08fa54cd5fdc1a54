"""One training in several processes: it learns what one process learns, and ends when one of them ends."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from training_processes import exit_code, recorded, together, train, train_until, without_dropout

from anyner.architectures.base import LossPart
from anyner.errors import AnynerError
from anyner.training.config import Recipe, changed

SMALL = "data.synthetic.sentences=24"
PLAIN = "head.dropout=0.0"
DIVERGED, LEFT = 9, 10


def metrics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def assert_alike(folder: Path, expected: Path) -> None:
    """The same steps, losses, dev scores and files, and weights that are close."""
    for one, other in zip(metrics(folder), metrics(expected), strict=True):
        assert (one["step"], one["thresholds"], one["best"]) == (other["step"], other["thresholds"], other["best"])
        assert one["losses"] == pytest.approx(other["losses"], rel=1e-4)
        assert one["dev_f1"] == pytest.approx(other["dev_f1"], abs=1e-6)
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in expected.iterdir())
    weights = load_file(expected / "model.safetensors")
    for name, weight in load_file(folder / "model.safetensors").items():
        assert torch.allclose(weight, weights[name], atol=2e-3), name


@pytest.mark.parametrize("change", [(), ("training.adversarial=0.1",)], ids=["plain", "adversarial"])
def test_two_processes_learn_what_one_learns(tiny: Callable[..., Recipe], tmp_path: Path, change: tuple[str, ...]) -> None:
    recipe = tiny(PLAIN, "training.batch_sentences=7", "data.synthetic.sentences=32", *change)
    assert exit_code(without_dropout, train, recipe, tmp_path / "one") == 0
    assert together(2, without_dropout, train, recipe, tmp_path / "two") == [0, 0]
    assert_alike(tmp_path / "two", tmp_path / "one")


@pytest.mark.parametrize(("before", "after"), [(2, 1), pytest.param(1, 3, marks=pytest.mark.slow)])
def test_another_number_of_processes_resumes(tiny: Callable[..., Recipe], tmp_path: Path, before: int, after: int) -> None:
    recipe = tiny(PLAIN, SMALL)
    killed = together(before, without_dropout, train_until, recipe, tmp_path / "both", False, 8, signal.SIGKILL)
    assert killed == [-signal.SIGKILL] * before
    assert together(after, without_dropout, train, recipe, tmp_path / "both", True) == [0] * after
    assert exit_code(without_dropout, train, recipe, tmp_path / "one") == 0
    assert_alike(tmp_path / "both", tmp_path / "one")


def test_where_the_loss_is_not_finite_two_processes_end_together(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    assert together(2, diverging, tiny(SMALL), tmp_path / "two") == [DIVERGED, DIVERGED]
    assert not (tmp_path / "two/config.json").exists() and not list((tmp_path / "two").glob("checkpoint*"))


def diverging(recipe: Recipe, folder: Path) -> None:
    """One of two processes; the share of the second has a loss that is not a number."""
    from anyner.model import NerModel
    from anyner.training.losses import DivergedError

    whole, calls = NerModel.forward, iter(range(10**6))

    def forward(model: NerModel, *arguments: Any) -> dict[str, LossPart]:
        factor = float("nan") if next(calls) == 1 and os.environ["RANK"] == "1" else 1.0
        return {name: replace(part, numerator=part.numerator * factor) for name, part in whole(model, *arguments).items()}

    NerModel.forward = forward  # type: ignore[method-assign, assignment]
    try:
        train(recipe, folder)
    except DivergedError as error:
        assert "not finite in step 2" in str(error)
        sys.exit(DIVERGED)


@pytest.mark.parametrize("fails", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_a_process_that_fails_ends_the_others(tiny: Callable[..., Recipe], tmp_path: Path, fails: int) -> None:
    began = time.monotonic()
    codes = together(2, failing, tiny(SMALL), tmp_path / "two", str(fails))
    assert (codes[fails], codes[1 - fails]) == (1, LEFT)
    assert time.monotonic() - began < 30


def failing(recipe: Recipe, folder: Path, rank: str) -> None:
    """One of two processes; one of them raises in its third step."""
    from anyner.training.loop import Trainer

    whole = Trainer._train_step

    def step(trainer: Trainer, *arguments: Any) -> None:
        if trainer.place.step == 2 and os.environ["RANK"] == rank:
            raise ZeroDivisionError
        whole(trainer, *arguments)

    Trainer._train_step = step  # type: ignore[method-assign]
    try:
        train(recipe, folder)
    except AnynerError as error:
        assert str(error) == "another process of this training ended: see its error message"
        sys.exit(LEFT)


# --- slow: all architectures ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["biaffine", "diffusion_ner", "locate_label", "nag_ner", "set_gner"])
def test_every_architecture_has_the_losses_of_one_process(tmp_path: Path, architecture: str) -> None:
    from conftest import TINY

    shape = ["data.synthetic.contiguous=false", "data.synthetic.sentences=70", "training.batch_sentences=7", "training.epochs=5"]
    rates = ["training.encoder_lr=0.0005", "training.head_lr=0.001"]
    recipe = Recipe.of(changed(TINY, [f"architecture={architecture}", "head={dropout: 0.0}", *shape, *rates]), "recipe")
    assert exit_code(recorded, tmp_path / "1.json", without_dropout, train, recipe, tmp_path / "one") == 0
    assert together(2, recorded, tmp_path / "2.json", without_dropout, train, recipe, tmp_path / "two") == [0, 0]
    one, two = (json.loads((tmp_path / f"{number}.json").read_text(encoding="utf-8")) for number in (1, 2))
    assert len(one) == len(two) >= 50
    for step, (expected, found) in enumerate(zip(one, two, strict=True)):
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-4), step
