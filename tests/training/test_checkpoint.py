from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from anyner.architectures.draw import Draw
from anyner.encoding.batch import training_batch
from anyner.encoding.examples import WindowSoftLabels
from anyner.errors import AnynerError
from anyner.model import NerModel
from anyner.training import checkpoint
from anyner.training.checkpoint import CHECKPOINT, Place, hash_of, remove_checkpoint, restore_checkpoint, write_checkpoint
from anyner.training.config import Recipe
from anyner.training.data.splits import read_data
from anyner.training.optimizer import build_optimizer
from anyner.training.run import build

PLACE = Place(
    learned_from="these", step=7, epoch=1, batch=3, best_f1=0.1 + 0.2, best_epoch=0, seconds=12.5, records=1,
    loss_sums={"span": (1 / 3, 17.0)},
)  # fmt: skip


def trained(recipe: Recipe, steps: int) -> tuple[NerModel, torch.optim.Optimizer]:
    recognizer, examples, _ = build(recipe, read_data(recipe.data, recipe.text))
    optimizer = build_optimizer(recognizer.model, recipe.training)
    for _ in range(steps):
        losses = recognizer.model(training_batch(examples[:4], recognizer.vocabulary.frame), Draw(0))
        losses["span"].numerator.backward()
        optimizer.step()
        optimizer.zero_grad()
    return recognizer.model, optimizer


@pytest.fixture(scope="module")
def learner(tiny: Callable[..., Recipe]) -> tuple[NerModel, torch.optim.Optimizer]:
    return trained(tiny(), 2)


def test_weights_moments_and_place_come_back_exactly(
    tiny: Callable[..., Recipe], learner: tuple[NerModel, torch.optim.Optimizer], tmp_path: Path
) -> None:
    model, optimizer = learner
    write_checkpoint(tmp_path, model, optimizer, PLACE)
    other, other_optimizer = trained(tiny("training.seed=5"), 0)
    assert restore_checkpoint(tmp_path, other, other_optimizer, PLACE.learned_from) == PLACE
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, other.state_dict()[name]), name
    ours, theirs = optimizer.state_dict()["state"], other_optimizer.state_dict()["state"]
    assert ours.keys() == theirs.keys()
    for number, state in ours.items():
        assert state.keys() == theirs[number].keys()
        assert all(torch.equal(state[key], theirs[number][key]) for key in state)


def test_before_the_first_step_there_is_no_optimiser_state_and_that_is_fine(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    model, optimizer = trained(tiny(), 0)
    write_checkpoint(tmp_path, model, optimizer, PLACE)
    assert restore_checkpoint(tmp_path, model, optimizer, PLACE.learned_from) == PLACE
    assert not optimizer.state_dict()["state"]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("half", [False, True])
def test_killed_while_it_is_written_the_previous_one_is_kept(
    learner: tuple[NerModel, torch.optim.Optimizer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, half: bool
) -> None:
    write_checkpoint(tmp_path, *learner, PLACE)

    def dying(_: object, path: Path, **__: object) -> None:
        if half:
            path.write_bytes(b"half")
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, "save_file", dying)
        with pytest.raises(Killed):
            write_checkpoint(tmp_path, *learner, PLACE.model_copy(update={"step": 8}))
    assert restore_checkpoint(tmp_path, *learner, PLACE.learned_from).step == 7
    write_checkpoint(tmp_path, *learner, PLACE.model_copy(update={"step": 9}))
    assert restore_checkpoint(tmp_path, *learner, PLACE.learned_from).step == 9
    remove_checkpoint(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"short", b"\x02\0\0\0\0\0\0\0{}"])
def test_a_broken_checkpoint_is_one_line_that_names_it(
    learner: tuple[NerModel, torch.optim.Optimizer], tmp_path: Path, content: bytes
) -> None:
    (tmp_path / CHECKPOINT).write_bytes(content)
    with pytest.raises(AnynerError, match="cannot resume") as caught:
        restore_checkpoint(tmp_path, *learner, PLACE.learned_from)
    assert str(tmp_path / CHECKPOINT) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_checkpoint_of_another_model_is_refused(
    tiny: Callable[..., Recipe], learner: tuple[NerModel, torch.optim.Optimizer], tmp_path: Path
) -> None:
    write_checkpoint(tmp_path, *learner, PLACE)
    with pytest.raises(AnynerError, match="cannot resume"):
        restore_checkpoint(tmp_path, *trained(tiny("head.width=8"), 0), PLACE.learned_from)


def test_any_change_of_the_examples_changes_the_hash(tiny: Callable[..., Recipe]) -> None:
    recipe = tiny()
    _, examples, _ = build(recipe, read_data(recipe.data, recipe.text))
    own = examples[0]
    held = WindowSoftLabels.of((), ["A"], 0.5)
    others = [
        replace(own, entities=replace(own.entities, label=own.entities.label + 1)),
        replace(own, entities=replace(own.entities, words=own.entities.words + 1)),
        replace(own, annotated=~np.asarray(own.annotated)),
        replace(own, soft_labels=held),
        replace(own, soft_labels=replace(held, covers_discontinuous=True)),
        examples[1],
    ]
    numbers = [hash_of(["A"], [one]) for one in (own, *others)]
    assert len({*numbers, hash_of(["B"], [own]), hash_of(["A"], [own, own])}) == len(numbers) + 2
    assert hash_of(["A"], [own]) == numbers[0]
