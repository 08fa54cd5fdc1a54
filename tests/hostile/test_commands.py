"""The commands on folders that would run code, ask the network or unpickle something; and encoders to train from."""

from __future__ import annotations

import builtins
import json
import pickle
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from safetensors.torch import load_file, save_file
from tampered_folders import Bomb, encoders, tokenizers
from transformers import AutoModel, BertConfig
from typer.testing import CliRunner

import anyner
from anyner.cli.main import app
from anyner.corpora.synthetic import synthetic
from anyner.encoding.config import EncoderConfig
from anyner.encoding.pretrained import encoder_from_config, load_pretrained, pretrained_encoder, train_vocabulary
from anyner.encoding.untrusted import ENCODER_KINDS, kept_settings
from anyner.errors import AnynerError


@pytest.fixture(autouse=True)
def nothing_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        pytest.fail("the network or stdin was asked")

    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(builtins, "input", refuse)


@pytest.fixture(scope="module")
def good_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    vocabulary = train_vocabulary((document.text for document in synthetic(30)), 200)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    AutoModel.from_config(BertConfig(vocab_size=200, **sizes)).save_pretrained(folder)
    vocabulary.save(folder)
    return folder


@pytest.fixture
def checkpoint(good_checkpoint: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(good_checkpoint, tmp_path / "checkpoint"))


def refused(*arguments: object) -> str:
    """The one line of a command that fails; its stdin would agree to everything."""
    result = CliRunner().invoke(app, [str(one) for one in arguments], input="y\n1\nyes\n" * 50)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 1
    assert result.stderr.startswith("anyner: ") and result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def change(path: Path, **keys: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | keys), encoding="utf-8")


@pytest.mark.parametrize("name", ["llava with code", "detr"])
def test_no_command_runs_code_or_asks_the_network(tiny_model: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(tiny_model, tmp_path / "model"))
    change(folder / "config.json", pretrained=encoders(tmp_path / "tripwire")[name])
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'tripwire')!r}, 'w')", encoding="utf-8")
    anyner.write(synthetic(3, contiguous=True), tmp_path / "corpus.jsonl", "jsonl")
    told = "unknown encoder type"
    assert told in refused("predict", "-", "-m", folder)
    assert told in refused("evaluate", folder, tmp_path / "corpus.jsonl")
    assert told in refused("train", "--data", "synthetic", "--encoder", folder, "-o", tmp_path / "out")
    shown = CliRunner().invoke(app, ["info", str(folder)], input="y\n")  # which builds no encoder
    assert isinstance(shown.exception, SystemExit | None)
    assert not (tmp_path / "tripwire").exists()


def test_train_never_reads_a_pickle(checkpoint: Path, tmp_path: Path) -> None:
    (checkpoint / "model.safetensors").unlink()
    (checkpoint / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(tmp_path / "tripwire")))
    message = refused("train", "--data", "synthetic", "--encoder", checkpoint, "-o", tmp_path / "out")
    assert "its weights are a pickle, which can run code" in message
    assert "use_safetensors=False" in message
    assert not (tmp_path / "tripwire").exists()


def test_the_good_checkpoint_is_read_without_the_network(checkpoint: Path) -> None:
    encoder, _ = pretrained_encoder(EncoderConfig(source=str(checkpoint)), ())
    assert encoder.config.hidden_size == 32


def told(folder: Path) -> str:
    with pytest.raises(AnynerError) as caught:
        pretrained_encoder(EncoderConfig(source=str(folder)), ())
    assert str(caught.value).isprintable() and str(folder) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", sorted(encoders(Path("x"))))
def test_a_checkpoint_of_any_config_loads_or_is_refused(checkpoint: Path, tmp_path: Path, name: str) -> None:
    (checkpoint / "config.json").write_text(json.dumps(encoders(tmp_path / "tripwire")[name]), encoding="utf-8")
    told(checkpoint)  # none has the sizes of these weights
    assert not (tmp_path / "tripwire").exists()


@pytest.mark.parametrize("name", sorted(set(tokenizers()) - {"padding", "truncation"}))
def test_a_checkpoint_with_a_hostile_tokenizer_is_refused(checkpoint: Path, name: str) -> None:
    change(checkpoint / "tokenizer.json", **tokenizers()[name])
    told(checkpoint)


def _remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def _write(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def _not_finite(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["embeddings.word_embeddings.weight"][3, 3] = torch.nan
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (_remove("config.json"), "no config.json"),
        (_remove("model.safetensors"), "no model.safetensors"),
        (_write("config.json", b"["), "not valid JSON"),
        (_write("config.json", b"[]"), "not the config of an encoder"),
        (_write("model.safetensors", b"broken"), "not a valid safetensors file"),
        (_write("model.safetensors", pickle.dumps({})), "not a valid safetensors file"),
        (_write("adapter_config.json", b'{"base_model_name_or_path": "owner/name"}'), "it holds an adapter"),
        (_write("tokenizer_config.json", b'{"tokenizer_class": "RagTokenizer"}'), "is not that of a text encoder"),
        (_write("tokenizer_config.json", b'{"vocab_file": "/etc/passwd"}'), "names a file"),
        (_not_finite, "not finite"),
    ],
)
def test_a_broken_checkpoint_is_one_line(checkpoint: Path, tamper: Callable[[Path], object], reason: str) -> None:
    tamper(checkpoint)
    assert reason in told(checkpoint)


@pytest.mark.parametrize("shard", ["../model.safetensors", "/etc/passwd", "pytorch_model-1.bin"])
def test_shards_lie_in_the_folder_and_are_no_pickles(checkpoint: Path, shard: str) -> None:
    (checkpoint / "model.safetensors").unlink()
    index = {"metadata": {}, "weight_map": {"embeddings.word_embeddings.weight": shard}}
    (checkpoint / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    assert "not a list of safetensors files" in told(checkpoint)


def test_a_head_for_masked_words_is_read_with_the_same_care(checkpoint: Path, tmp_path: Path) -> None:
    (checkpoint / "model.safetensors").unlink()
    (checkpoint / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(tmp_path / "tripwire")))
    with pytest.raises(AnynerError, match="pickle"):
        load_pretrained(str(checkpoint))
    assert not (tmp_path / "tripwire").exists()


def test_keys_that_name_code_are_dropped_at_every_depth() -> None:
    plain = {"a": 1, "auto_map": 1, "b": [{"auto_map": 1, "c": {"backbone": "x", "d": 2}}], "vision_config": {"auto_map": 1}}
    assert kept_settings(plain) == {"a": 1, "b": [{"c": {"d": 2}}]}


@pytest.mark.parametrize("kind", ["llava", "detr", "dpt", "gpt2", "clip", "rag", "encoder-decoder", "timm_backbone", "yoso"])
def test_other_kinds_than_text_encoders_are_refused_by_name(kind: str) -> None:
    assert kind not in ENCODER_KINDS
    with pytest.raises(AnynerError, match=f"unknown encoder type '{kind}'"):
        encoder_from_config({"model_type": kind})
