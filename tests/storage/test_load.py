from __future__ import annotations

import hashlib
import json
import pickle
import socket
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from anyner.errors import AnynerError
from anyner.inference.recognizer import Recognizer
from anyner.storage.load import find, load
from anyner.storage.weights import Weights


def message_of(folder: str | Path) -> str:
    with pytest.raises(AnynerError) as caught:
        load(folder, "cpu")
    text = str(caught.value)
    assert text
    assert "\n" not in text
    return text


def with_config(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    plain = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    change(plain)
    (folder / "config.json").write_text(json.dumps(plain), encoding="utf-8")
    return folder


def test_it_loads_and_predicts_with_the_network_cut_off(
    copied: Path, monkeypatch: pytest.MonkeyPatch, recognizer: Recognizer, keys: Callable[[Recognizer], list[object]]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("the network is cut off")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert keys(load(copied, "cpu")) == keys(recognizer)


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("writer", ["pickle", "torch"])
def test_a_pickle_in_place_of_the_weights_is_refused_and_never_opened(copied: Path, tmp_path: Path, writer: str) -> None:
    bomb, path = Bomb(tmp_path / "went off"), copied / "model.safetensors"
    if writer == "pickle":
        path.write_bytes(pickle.dumps(bomb))
    else:
        torch.save(bomb, path)
    message = message_of(copied)
    assert str(path) in message
    assert "pickles are refused" in message
    assert not (tmp_path / "went off").exists()


def test_a_pickle_beside_missing_weights_is_not_read(copied: Path) -> None:
    (copied / "model.safetensors").unlink()
    torch.save({}, copied / "pytorch_model.bin")
    assert f"{copied}: no model.safetensors" in message_of(copied)


@pytest.mark.parametrize("kept", [0, 5, 100, 0.5, 0.999])
def test_truncated_weights_are_named(copied: Path, kept: float) -> None:
    path = copied / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    assert str(path) in message_of(copied)


def test_a_missing_or_broken_tokenizer_is_named(copied: Path) -> None:
    path = copied / "tokenizer.json"
    path.write_text(path.read_text(encoding="utf-8")[:500], encoding="utf-8")
    assert str(path) in message_of(copied)
    path.unlink()
    assert f"{copied}: no tokenizer.json" in message_of(copied)


def test_a_tokenizer_of_another_model_is_reported(copied: Path) -> None:
    path = copied / "tokenizer.json"
    plain = json.loads(path.read_text(encoding="utf-8"))
    for number in range(len(plain["model"]["vocab"]), 9000):
        plain["model"]["vocab"][f"piece{number}"] = number
    path.write_text(json.dumps(plain), encoding="utf-8")
    assert "the tokenizer has 9,000 pieces" in message_of(copied)


def test_an_unknown_precision_is_reported(copied: Path) -> None:
    with pytest.raises(AnynerError, match="precision: expected one of auto, float32, bfloat16, got 'float16'"):
        load(copied, "cpu", "float16")  # type: ignore[arg-type]


@pytest.mark.parametrize("setting", ["farthest", "longest", "most_at_one_word", "decoder"])
def test_settings_that_a_training_fills_in_may_not_be_missing(copied: Path, setting: str) -> None:
    def change(plain: dict[str, Any]) -> None:
        filled = {"farthest": 9, "longest": 5, "most_at_one_word": 2, "decoder": "new", "most_units": 64, "contiguous": True}
        plain.update(architecture="nag_ner", head={**filled, "space": "pointer", "tail": False, setting: None})
        plain.update(thresholds={"start": 0.5, "score": 0.3}, options={})

    assert "'head' lacks settings that every trained model has" in message_of(with_config(copied, change))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda plain: plain.update(colour="red"), "unknown key 'colour'"),
        (lambda plain: plain["text"].update(windwo=3), "unknown key 'text.windwo'"),
        (lambda plain: plain["head"].update(depth=3), "unknown key 'depth'"),
        (lambda plain: plain.update(format=99), "written by a newer anyner (format 99, this one knows 3): upgrade anyner"),
        (lambda plain: plain.update(format=2), "before its first release (format 2, this one knows 3): train the model again"),
        (lambda plain: plain.update(format="new"), "'format'"),
        (lambda plain: plain.update(labels=[]), "'labels'"),
        (lambda plain: plain.update(overlap="some"), "'overlap'"),
        (lambda plain: plain.update(thresholds={}), "thresholds"),
        (lambda plain: plain.update(thresholds={"score": 0.5, "other": 1.0}), "thresholds"),
        (lambda plain: plain.pop("labels"), "'labels'"),
        (lambda plain: plain.pop("architecture"), "not the config of an anyner model"),
        (lambda plain: plain["pretrained"].update(model_type="no-such-kind"), "unknown encoder type 'no-such-kind'"),
        (lambda plain: plain["pretrained"].pop("model_type"), "unknown encoder type None"),
        (lambda plain: plain["pretrained"].update(hidden_size="wide"), "encoder"),
        (lambda plain: plain["pretrained"].update(num_attention_heads=7), "encoder"),
    ],
)
def test_a_wrong_config_is_one_line_that_names_file_and_key(
    copied: Path, change: Callable[[dict[str, Any]], object], named: str
) -> None:
    message = message_of(with_config(copied, change))
    assert named in message
    assert "config.json" in message


def test_an_unknown_architecture_is_named(copied: Path) -> None:
    assert "unknown architecture 'magic'" in message_of(with_config(copied, lambda plain: plain.update(architecture="magic")))


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"model_type": "bert"}', "\xff"])
def test_a_file_that_is_not_a_config_is_named(copied: Path, content: str) -> None:
    (copied / "config.json").write_bytes(content.encode("latin-1"))
    assert str(copied / "config.json") in message_of(copied)


@pytest.mark.parametrize("change", [{"fresh": 1}, {"labels": ["A", "B"]}, {"lstm": 1}])
def test_weights_that_do_not_fit_are_named(copied: Path, change: dict[str, Any]) -> None:
    def misfit(plain: dict[str, Any]) -> None:
        if "labels" in change:
            plain["labels"] = change["labels"]
        elif "lstm" in change:
            plain["encoder"]["lstm_layers"] = 1
        else:
            plain["pretrained"]["vocab_size"] += 1

    message = message_of(with_config(copied, misfit))
    assert f"{copied / 'model.safetensors'}: does not fit config.json: " in message


@pytest.mark.parametrize("extra", [True, False])
def test_weights_too_many_or_too_few_are_named(copied: Path, extra: bool) -> None:
    path = copied / "model.safetensors"
    weights = load_file(path)
    if extra:
        weights["head.surplus"] = torch.zeros(3)
    else:
        del weights["head.span_scores.linear.bias"]
    save_file(weights, path)
    expected = "head.surplus is unexpected" if extra else "head.span_scores.linear.bias is missing"
    assert expected in message_of(copied)


def test_weights_are_never_all_in_memory_twice(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[weakref.ref[Any]] = []
    whole = Weights.__getitem__

    def watched(weights: Weights, name: str) -> Any:
        assert sum(one() is not None for one in read) <= 1
        read.append(weakref.ref(array := whole(weights, name)))
        return array

    monkeypatch.setattr(Weights, "__getitem__", watched)
    load(copied, "cpu", runtime="torch")
    assert len(read) > 10


def test_a_folder_without_a_model_and_a_name_without_a_folder_are_reported(tmp_path: Path) -> None:
    assert "is not a model folder: no config.json" in message_of(tmp_path)
    assert "cannot find model nowhere" in message_of("nowhere")
    assert str(tmp_path / "gone") in message_of(tmp_path / "gone")


def test_a_failed_download_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_: object, **__: object) -> str:
        raise OSError("cannot reach the hub\nand three more lines\n")

    monkeypatch.setattr("huggingface_hub.snapshot_download", offline)
    assert (
        message_of("owner/name")
        == "owner/name: no such folder, and it could not be downloaded from the Hugging Face Hub: cannot reach the hub"
    )


def test_a_hub_download_asks_for_no_pickle(monkeypatch: pytest.MonkeyPatch, model_folder: Path) -> None:
    asked: list[list[str]] = []

    def download(name: str, revision: str | None, allow_patterns: list[str]) -> str:
        asked.append(allow_patterns)
        return str(model_folder)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert find("owner/name") == find("owner/name", "v1") == model_folder
    assert not any("bin" in one or one.startswith("*") or one.endswith(("*", ".py", ".pt")) for one in asked[0])


def test_a_saved_model_has_a_checksum_and_older_ones_load_without(copied: Path) -> None:
    path = copied / "model.safetensors"
    stored = json.loads((copied / "config.json").read_text(encoding="utf-8"))["weights_sha256"]
    assert stored == hashlib.sha256(path.read_bytes()).hexdigest()
    weights = load_file(path)
    weights["head.span_scores.linear.bias"] += 1
    save_file(weights, path, metadata={"format": "pt"})
    assert f"{path}: not the file that config.json was saved with, or damaged: its sha256 differs" in message_of(copied)
    load(with_config(copied, lambda plain: plain.pop("weights_sha256")), "cpu")


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_weights_that_are_not_finite_are_named(copied: Path, value: float) -> None:
    path = copied / "model.safetensors"
    weights = load_file(path)
    weights["head.span_scores.linear.bias"][0] = value
    save_file(weights, path)
    with_config(copied, lambda plain: plain.pop("weights_sha256"))
    assert f"{path}: head.span_scores.linear.bias holds values that are not finite" in message_of(copied)


@pytest.mark.parametrize("key", ["dtype", "torch_dtype"])
def test_the_number_format_in_an_encoder_config_does_not_matter(copied: Path, key: str) -> None:
    with_config(copied, lambda plain: plain["pretrained"].update({key: "float16"}))
    assert next(load(copied, "cpu").model.parameters()).dtype == torch.float32
