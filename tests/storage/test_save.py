from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from anyner.encoding.pieces import PieceVocabulary
from anyner.errors import AnynerError
from anyner.inference.config import WeightFormat
from anyner.inference.recognizer import Recognizer
from anyner.storage import save as saving
from anyner.storage.files import DiskFullError
from anyner.storage.load import load
from anyner.storage.save import save

Keys = Callable[[Recognizer], list[object]]


def test_predictions_before_saving_and_after_loading_are_the_same(recognizer: Recognizer, tmp_path: Path, keys: Keys) -> None:
    other = load(save(recognizer, tmp_path / "m"), "cpu")
    found = keys(recognizer)
    assert len(found) > 20
    assert keys(other) == found
    assert other.config == recognizer.config
    assert all(torch.equal(w, other.model.state_dict()[name]) for name, w in recognizer.model.state_dict().items())


@pytest.mark.parametrize(("form", "share"), [("bfloat16", 0.5), ("int8", 0.25)])
def test_smaller_formats_take_less_space_and_find_nearly_the_same(
    recognizer: Recognizer, tmp_path: Path, keys: Keys, form: WeightFormat, share: float
) -> None:
    whole = save(recognizer, tmp_path / "whole") / "model.safetensors"
    small = save(recognizer, tmp_path / "small", form) / "model.safetensors"
    assert small.stat().st_size / whole.stat().st_size == pytest.approx(share, abs=0.15)
    other = load(small.parent, "cpu")
    assert other.config.weights == form
    assert next(other.model.parameters()).dtype == torch.float32
    found, again = ({key[:2] for key in keys(one)} for one in (recognizer, other))  # type: ignore[index]
    assert len(found & again) >= 0.9 * len(found | again)


def test_a_model_loaded_from_a_small_format_saves_unchanged(recognizer: Recognizer, tmp_path: Path, keys: Keys) -> None:
    small = load(save(recognizer, tmp_path / "small", "bfloat16"), "cpu")
    again = load(save(small, tmp_path / "again", "bfloat16"), "cpu")
    assert keys(small) == keys(again)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_when_the_weights_cannot_be_written_the_old_model_stays_whole(
    recognizer: Recognizer, copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(copied)

    def half(weights: object, path: Path, metadata: object = None) -> None:
        path.write_bytes(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(saving, "save_file", half)
    with pytest.raises(AnynerError, match="already holds a model"):
        save(recognizer, copied, "int8")
    with pytest.raises(OSError, match="no space left"):
        save(recognizer, copied, "int8", overwrite=True)
    assert files(copied) == before


def test_when_the_vocabulary_cannot_be_written_no_half_of_it_is_left(
    recognizer: Recognizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(vocabulary: PieceVocabulary, folder: Path) -> None:
        (folder / "tokenizer.json").write_text("{", encoding="utf-8")
        raise OSError("no space left")

    monkeypatch.setattr(PieceVocabulary, "save", half)
    with pytest.raises(OSError, match="no space left"):
        save(recognizer, tmp_path / "m")
    assert not files(tmp_path / "m")


@pytest.mark.parametrize("moved", range(4))
def test_interrupted_while_files_are_moved_it_never_leaves_a_mix_of_two_models(
    recognizer: Recognizer, copied: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    """Weights, vocabulary and last the config: without it, nothing is loaded as a model."""
    replace, calls = Path.replace, 0

    def dies(path: Path, target: Path) -> Path:
        nonlocal calls
        if target.parent == copied:
            calls += 1
            if calls > moved:
                raise KeyboardInterrupt
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", dies)
    with pytest.raises(KeyboardInterrupt):
        save(recognizer, copied, "int8", overwrite=True)
    assert not (copied / "config.json").exists()


def test_an_unknown_format_is_refused_before_anything_is_written(recognizer: Recognizer, tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match="weights"):
        save(recognizer, tmp_path / "m", "int4")  # type: ignore[arg-type]
    assert not files(tmp_path / "m")


@pytest.mark.parametrize("writer", ["anyner.storage.save.save_file", "anyner.encoding.pieces.PieceVocabulary.save"])
def test_a_full_disk_leaves_the_model_that_was_there(
    recognizer: Recognizer, copied: Path, monkeypatch: pytest.MonkeyPatch, keys: Keys, writer: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = sorted(path.name for path in copied.iterdir())
    monkeypatch.setattr(writer, full)
    with pytest.raises(DiskFullError, match=r"copy.(model\.safetensors|tokenizer\.json): no space left on the disk$"):
        save(recognizer, copied, overwrite=True)
    assert sorted(path.name for path in copied.iterdir()) == before
    assert keys(load(copied, "cpu")) == keys(recognizer)
