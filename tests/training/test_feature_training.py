"""Word features in a training: learned in frozen epochs too, and mistakes are told before the first step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from anyner.document import Document, Entity
from anyner.errors import AnynerError
from anyner.training.config import Recipe
from anyner.training.data.splits import Splits, read_data
from anyner.training.loop import Trainer
from anyner.training.run import build, run

ANNA = Document.from_words(["Anna", "saw", "Bern", "."], [Entity("Person", ((0, 1),))])


def test_features_are_learned_while_the_encoder_stands_still(
    tiny: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tiny("encoder.features.shapes=6", "training.frozen_epochs=1", "training.epochs=1")
    start = build(recipe, read_data(recipe.data, recipe.text))[0].model.encoder.state_dict()
    ends: list[dict[str, torch.Tensor]] = []
    score = Trainer._score

    def looking(trainer: Trainer, *arguments: object) -> None:
        ends.append({name: weight.clone() for name, weight in trainer.model.encoder.state_dict().items()})
        score(trainer, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Trainer, "_score", looking)
    run(recipe, tmp_path / "m")
    moved = {name for name, weight in ends[0].items() if not torch.equal(weight, start[name])}
    assert moved
    assert moved == {name for name in start if name.startswith("word_layer.")}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("encoder.features.shapes=-1", "'encoder.features.shapes'"),
        ("encoder.features.pos=-1", "'encoder.features.pos'"),
        ("encoder.features.dropout=1", "'encoder.features.dropout'"),
        ("encoder.features.tags=5", "unknown key 'encoder.features.tags'"),
    ],
)
def test_wrong_settings_are_named(tiny: Callable[..., Recipe], change: str, message: str) -> None:
    with pytest.raises(AnynerError, match=message):
        tiny(change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("encoder.features.pos=5", "no training document has part-of-speech tags"),
        ("encoder.features.vectors=nowhere/v.txt", "nowhere/v.txt: no such file"),
    ],
)
def test_what_a_feature_needs_and_is_not_there_is_told_at_once(tiny: Callable[..., Recipe], change: str, message: str) -> None:
    with pytest.raises(AnynerError, match=message) as caught:
        build(tiny(change, "text.words=given"), Splits((ANNA,), (ANNA,), ()))
    assert "\n" not in str(caught.value)


def test_without_features_a_training_starts_as_it_always_did(tiny: Callable[..., Recipe]) -> None:
    plain = build(tiny(), Splits((ANNA,), (ANNA,), ()))[0].model
    other = build(tiny("encoder.features.dropout=0.1"), Splits((ANNA,), (ANNA,), ()))[0].model
    assert plain.state_dict().keys() == other.state_dict().keys()
    assert all(torch.equal(weight, other.state_dict()[name]) for name, weight in plain.state_dict().items())
    assert not any("features" in name for name in plain.state_dict())
