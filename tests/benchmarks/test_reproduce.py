"""The cells of the tables are trained again, each by one command; brief trainings are timed."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from run_scripts import told_at_the_end

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.errors import AnynerError
from anyner.training.config import Recipe

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def reproduce(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("reproduce")


def listed(
    reproduce: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str
) -> list[str]:
    monkeypatch.setattr(sys, "argv", ["reproduce.py", *options, "--list"])
    reproduce.main()
    return capsys.readouterr().out.splitlines()


def test_every_architecture_is_trained_on_every_corpus_with_every_seed(
    reproduce: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = listed(reproduce, monkeypatch, capsys, "all", "--encoder", "minilm")
    assert len(lines) == 5 * len(reproduce.CORPORA) * 3
    for line in lines:
        name, _, command = line.partition(": ")
        _, _, recipe, *words = shlex.split(command)
        read = Recipe.read(ROOT / recipe, words[1:6:2])
        cell = f"{read.architecture}-{Path(read.data.folder or '').name}-{read.encoder.source}-seed{read.training.seed}"
        assert name == cell == words[-1]


def test_named_trainings_alone_are_listed(
    reproduce: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = listed(reproduce, monkeypatch, capsys, "accuracy", "nag_ner-cadec-mpnet-seed2")
    assert [line.partition(":")[0] for line in lines] == ["nag_ner-cadec-mpnet-seed2"]
    assert len(listed(reproduce, monkeypatch, capsys, "accuracy", "--seeds", "1")) == 2 * 5 * len(reproduce.CORPORA)


@pytest.mark.parametrize("name", ["biaffine", "biaffine-nowhere-minilm-seed0", "magic-genia-minilm-seed0"])
def test_an_unknown_training_is_named(reproduce: ModuleType, name: str) -> None:
    with pytest.raises(AnynerError, match=f"there is no training {name}: write ARCHITECTURE-CORPUS-ENCODER-seedN"):
        reproduce.Cell.named(name)


def test_a_brief_training_keeps_what_speed_depends_on(reproduce: ModuleType) -> None:
    for cell in (reproduce.Cell("nag_ner", "cadec", "minilm", 0), reproduce.Cell("biaffine", "genia", "minilm", 0)):
        long, brief = Recipe.read(cell.recipe), Recipe.read(cell.recipe, reproduce.brief(cell))
        assert (brief.head, brief.options, brief.text, brief.encoder) == (long.head, long.options, long.text, long.encoder)
        assert 3 <= brief.training.epochs <= max(3, long.training.epochs // 2 + 1)
        assert not brief.training.adversarial and not brief.training.average_epochs


def run_here(jobs: Sequence[Any], folder: Path, **_: float) -> list[str]:
    """The trainings in this process."""
    for job in jobs:
        _, script, *arguments = job.command
        assert not told_at_the_end(Path(script).name, *arguments)
    return []


def test_models_are_trained_and_timed(reproduce: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for part, number in (("train", 24), ("dev", 8), ("test", 6)):
        Path("data/small").mkdir(parents=True, exist_ok=True)
        anyner.write(synthetic(number, contiguous=True, split=part).documents, f"data/small/{part}.jsonl", "jsonl")
    small = yaml.safe_load((ROOT / "recipes/biaffine/demo.yaml").read_text(encoding="utf-8"))
    small = {**small, "data": {"folder": "data/small"}, "training": {"epochs": 7, "batch_sentences": 8, "adversarial": 0.5}}
    Path("recipes/biaffine").mkdir(parents=True)
    Path("recipes/biaffine/small.yaml").write_text(yaml.safe_dump(small), encoding="utf-8")
    monkeypatch.setattr(reproduce, "RECIPES", tmp_path / "recipes")
    monkeypatch.setattr(reproduce, "run_jobs", run_here)
    name = f"biaffine-small-{small['encoder']['source']}-seed0"
    monkeypatch.setattr(sys, "argv", ["reproduce.py", "speed", name, "--repeats", "1", "-o", "out"])
    reproduce.main()
    told = json.loads(Path(f"out/speed-{name.removesuffix('-seed0')}.json").read_text(encoding="utf-8"))
    assert (told["architecture"], told["corpus"], told["documents"]) == ("biaffine", "small", 6)
    assert told["end_to_end_sentences_per_second"] == pytest.approx(6 / told["end_to_end_seconds"], rel=0.05)
    assert told["trained_for"]["epochs"] == 4


def test_all_is_accuracy_then_speed_then_tables(reproduce: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    for name in ("accuracy", "speed", "update_pages"):
        monkeypatch.setattr(reproduce, name, lambda *_, name=name: done.append(name))
    for options in ([], ["--list"]):
        monkeypatch.setattr(sys, "argv", ["reproduce.py", "all", *options])
        reproduce.main()
    assert done == ["accuracy", "speed", "update_pages", "accuracy"]
