"""The encoder inside a trained model starts a new training, bundled or not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from anyner.encoding.config import EncoderConfig
from anyner.errors import AnynerError
from anyner.storage.load import load
from anyner.training.config import Recipe
from anyner.training.encoder import starting_encoder
from anyner.training.run import run


@pytest.fixture(scope="module")
def trained(tiny: Callable[..., Recipe], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tiny("training.epochs=1"), tmp_path_factory.mktemp("start") / "model").folder


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load(folder, "cpu").model.encoder.pretrained.state_dict()


@pytest.mark.parametrize("bundled", [False, True])
def test_a_trained_model_gives_its_encoder(trained: Path, bundled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(trained, tmp_path / "general-xx")
    monkeypatch.setattr("anyner.storage.bundled._HERE", tmp_path)
    source = "bundled:general-xx" if bundled else str(trained)
    encoder, vocabulary = starting_encoder(EncoderConfig(source=source), ())
    own = weights(trained)
    assert own.keys() == encoder.state_dict().keys()
    assert all(torch.equal(own[name], weight) for name, weight in encoder.state_dict().items())
    assert vocabulary.cut(["pain"]) == load(trained, "cpu").vocabulary.cut(["pain"])


def test_a_training_starts_from_it_with_other_labels(trained: Path, tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    recipe = tiny(
        f"encoder.source={trained}",
        "architecture=locate_label",
        "head.width=null",
        "data.synthetic.contiguous=false",
        "training.adversarial=0",
        "training.epochs=1",
    )
    run(recipe, tmp_path / "next")
    assert load(tmp_path / "next", "cpu").predict("She felt pain.").text == "She felt pain."


def test_the_bare_name_of_a_bundled_model_gets_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AnynerError, match=r"for the encoder of the bundled model write bundled:general-en$"):
        starting_encoder(EncoderConfig(source="general-en"), ())


def test_a_bundled_model_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("anyner.storage.bundled._HERE", tmp_path)
    with pytest.raises(AnynerError, match=r"no model 'no-such' is bundled with this installation$"):
        starting_encoder(EncoderConfig(source="bundled:no-such"), ())
