"""The three qualities: what they choose, and the stages of `best`, which a second call continues."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import anyner
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.training import quality as module
from anyner.training.auto import FAST, STANDARD, choices
from anyner.training.config import Recipe
from anyner.training.data.splits import Corpora
from anyner.training.pretraining import pretrain
from anyner.training.progress import Listener
from anyner.training.quality import train

Tiny = Callable[..., Recipe]
Noting = Callable[[], tuple[Listener, list[str]]]
SMALL = ("data.synthetic.sentences=40", "training.epochs=5", "training.encoder_lr=0.01", "training.head_lr=0.01")


def test_fast_takes_fewer_steps_and_nothing_else_differs(tiny: Tiny) -> None:
    recipe = tiny("training=null")
    fast, standard = (choices(recipe, Corpora.read(recipe.data), rules) for rules in (FAST, STANDARD))
    differing = {key for key in standard if fast[key] != standard[key]}
    assert differing == {"training.epochs", "training.average_epochs"}
    assert fast["training.epochs"] < standard["training.epochs"]


def test_fast_scores_a_part_of_a_large_dev_and_reports_it(
    tiny: Tiny, noting: Noting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FAST", replace(FAST, most_dev=3))
    listener, lines = noting()
    train(tiny("training.epochs=1"), tmp_path / "model", quality="fast", listener=listener)
    assert "3 of the 8 dev documents are scored" in lines


def test_what_makes_no_sense_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match="quality: expected fast, standard or best, got 'good'"):
        anyner.train(tiny(), tmp_path / "m", quality="good")
    with pytest.raises(AnynerError, match="texts: unannotated texts need quality best, got standard"):
        anyner.train(tiny(), tmp_path / "m", texts=[Document("a text")])
    with pytest.raises(AnynerError, match="remove `refit`"):
        anyner.train(tiny("refit.epoch=1"), tmp_path / "m", quality="best")
    assert not (tmp_path / "m").exists()


def test_best_without_entities_is_refused_before_anything_is_trained(
    tiny: Tiny, written: Callable[[Path, list[Document]], str], tmp_path: Path
) -> None:
    plain = written(tmp_path / "plain.jsonl", [Document(f"text number {number}") for number in range(12)])
    recipe = tiny("data.synthetic=null", f"data.train={plain}", f"data.dev={plain}")
    with pytest.raises(AnynerError, match=r"^data\.train has no entity: there is nothing to learn$"):
        train(recipe, tmp_path / "m", quality="best")
    assert not (tmp_path / "m").exists()


def test_best_is_refused_in_several_processes(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(AnynerError, match=r"^quality best runs in one process .* start it without torchrun"):
        train(tiny(), tmp_path / "m", quality="best")
    assert not (tmp_path / "m").exists()


def test_best_goes_through_its_stages_and_a_second_call_repeats_none(
    tiny: Tiny, noting: Noting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FOLDS", 2)
    start = pretrain(tiny(*SMALL), tmp_path / "start", epochs=1).folder
    recipe, folder = tiny(*SMALL, f"encoder.source={start}"), tmp_path / "model"
    called: list[str] = []
    for name in ("pretrain", "cross_validate", "run"):
        _counted(monkeypatch, name, called, stop=name == "cross_validate")
    with pytest.raises(KeyboardInterrupt):
        train(recipe, folder, quality="best", texts=[Document("more words to read")])
    assert called == ["pretrain", "cross_validate"]
    called.clear()
    monkeypatch.undo()
    monkeypatch.setattr(module, "FOLDS", 2)
    for name in ("pretrain", "cross_validate", "run"):
        _counted(monkeypatch, name, called, stop=False)
    listener, lines = noting()
    train(recipe, folder, quality="best", texts=[Document("more words to read")], listener=listener)
    assert called == ["cross_validate", "run"]
    assert lines[0].startswith("chosen from the corpus (--set KEY=VALUE changes it)")
    assert re.match(r"best takes under a minute here: \(1\) pre-train the .*: done; \(2\) cross-validate, .*", lines[1])
    saved = Recipe.read(folder / "recipe.yaml")
    assert saved.encoder.source == str(folder / "stages" / "encoder") and saved.refit is not None
    assert [Path(source.path).name for source in saved.data.soft_labels] == ["soft_labels.jsonl"]
    assert anyner.load(folder, "cpu").predict("She lives in Langcombe.").text == "She lives in Langcombe."
    with pytest.raises(AnynerError, match="already holds a model"):
        train(recipe, folder, quality="best")


def _counted(patch: pytest.MonkeyPatch, name: str, called: list[str], stop: bool) -> None:
    """Replaces the function by one that records its call, and is interrupted if `stop`."""
    function = getattr(module, name)

    def counting(*arguments: Any, **named: Any) -> Any:
        called.append(name)
        if stop:
            raise KeyboardInterrupt
        if name == "pretrain":
            named["epochs"] = 1
        return function(*arguments, **named)

    patch.setattr(module, name, counting)
