"""Word shapes in a training: kept in the model folder; wrong settings are reported at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from anyner.errors import AnynerError
from anyner.storage.load import load
from anyner.training.config import Recipe
from anyner.training.run import run


def test_shapes_are_kept_with_the_model(tiny: Callable[..., Recipe], tmp_path: Path) -> None:
    folder = run(tiny("encoder.word_shapes=6", "training.epochs=1"), tmp_path / "m").folder
    assert load(folder, "cpu").model.encoder.shapes is not None
    assert "| word features | word shapes |" in (folder / "README.md").read_text(encoding="utf-8")
    other = Path(shutil.copytree(folder, tmp_path / "copy"))
    (other / "features.json").write_text('{"shapes": ["x"]}', encoding="utf-8")
    with pytest.raises(AnynerError, match=r"does not fit config.json: size mismatch.*word_layer\.shapes"):
        load(other, "cpu")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("encoder.word_shapes=-1", "'encoder.word_shapes'"),
        ("encoder.features.pos=5", "unknown key 'encoder.features'"),
    ],
)
def test_wrong_settings_are_named(tiny: Callable[..., Recipe], change: str, message: str) -> None:
    with pytest.raises(AnynerError, match=message):
        tiny(change)
