"""Which encoder `anyner train` starts from, and what it says when there is none."""

from __future__ import annotations

import logging
import socket
import time
from pathlib import Path
from typing import NoReturn

import pytest
from command_line import anyner_command

from anyner.encoding.config import EncoderConfig
from anyner.encoding.pretrained import load_pretrained
from anyner.errors import AnynerError
from anyner.training.config import Recipe


def test_an_absent_encoder_is_one_line_where_the_hub_may_not_be_asked(tmp_path: Path) -> None:
    command = ("train", "--data", "synthetic", "--encoder", "nonexistent/thing", "-o", tmp_path / "m")
    anyner_command(*command).assert_one_line(
        "encoder.source: cannot load 'nonexistent/thing': no such folder or bundled model, "
        "and the Hugging Face Hub is not reachable (HF_HUB_OFFLINE is set)"
    )


def test_an_absent_encoder_is_one_line_where_nothing_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def nobody(*address: object, **_: object) -> NoReturn:
        asked.append(address)
        raise ConnectionRefusedError("nobody answers")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    monkeypatch.setattr(socket.socket, "connect", nobody)
    monkeypatch.setattr(time, "sleep", lambda _: None)  # between retries
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    answer = anyner_command("train", "--data", "synthetic", "--encoder", "nonexistent/thing", "-o", tmp_path / "m")
    reason = "no such folder or bundled model, and the Hugging Face Hub is not reachable"
    assert answer.err == f"anyner: encoder.source: cannot load 'nonexistent/thing': {reason}\n"
    assert (answer.code, answer.out) == (1, "")
    assert asked


def test_the_libraries_are_as_loud_after_loading_as_before(tmp_path: Path) -> None:
    loggers = [logging.getLogger(name) for name in ("transformers", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    with pytest.raises(AnynerError):
        load_pretrained(str(tmp_path))
    assert [logger.level for logger in loggers] == levels


SMALL = ("--set", "data.synthetic.sentences=16", "--set", "training.epochs=1")
NOTE = "note: no --encoder given, using bundled:general-en, an English encoder\n"


def recipe_in(folder: Path) -> Recipe:
    return Recipe.read(folder / "recipe.yaml")


def test_training_on_a_folder_starts_from_the_bundled_encoder_and_says_so(tmp_path: Path) -> None:
    answer = anyner_command("train", "--data", "synthetic", "-o", tmp_path / "m", *SMALL, "--set", "training.adversarial=0")
    assert answer.code == 0 and answer.err.startswith(NOTE) and answer.err.count(NOTE) == 1
    recipe = recipe_in(tmp_path / "m")
    assert recipe.encoder == EncoderConfig(source="bundled:general-en", word_shapes=32)
    assert "chosen from the corpus (--set KEY=VALUE changes it): architecture=set_gner, data.augmentation=0.3" in answer.err
    assert recipe.training.batch_sentences == 8 and recipe.training.encoder_lr == 2 * 6e-5, "few steps are larger ones"


def test_an_encoder_from_scratch_has_its_own_learning_rates(tmp_path: Path) -> None:
    answer = anyner_command("train", "--data", "synthetic", "--encoder", "from_scratch", "-o", tmp_path / "m", *SMALL)
    recipe = recipe_in(tmp_path / "m")
    assert recipe.encoder == EncoderConfig(source="from_scratch", lstm_layers=1)
    assert recipe.training.encoder_lr == 1e-3
    assert answer.code == 0 and NOTE not in answer.err


def test_an_encoder_named_by_set_is_taken_without_a_note(tmp_path: Path) -> None:
    answer = anyner_command("train", "--data", "synthetic", "--set", "encoder.source=from_scratch", "-o", tmp_path / "m", *SMALL)
    assert recipe_in(tmp_path / "m").encoder.source == "from_scratch"
    assert answer.code == 0 and NOTE not in answer.err


def test_the_help_names_the_default_encoder() -> None:
    assert "default: bundled:general-en" in " ".join(anyner_command("train", "--help").out.split())
