"""Every architecture is timed on every corpus, after a short training by one command."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from run_scripts import SCRIPTS

import anyner
from anyner.cli.main import app
from anyner.corpora.synthetic import synthetic
from anyner.errors import AnynerError
from anyner.training import quality
from anyner.training.auto import Rules


@pytest.fixture
def reproduce(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return import_module("reproduce")


def test_every_architecture_is_timed_on_every_existing_corpus(
    reproduce: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for corpus in ("genia", "cadec", "elsewhere"):
        Path("data", corpus).mkdir(parents=True)
    cells = reproduce.cells(Namespace(results=[], encoder="minilm"))
    assert {cell.corpus for cell in cells} == {"genia", "cadec"} and len({cell.name for cell in cells}) == len(cells) == 2 * 5 + 3
    assert all(reproduce.Cell.named(cell.name) == cell for cell in cells)
    assert [cell.corpus for cell in cells if cell.contiguous] == ["cadec"] * 3
    assert len(reproduce.cells(Namespace(results=[], encoder=None))) == 4 * 5 + 3
    assert reproduce.cells(Namespace(results=["set_gner-weibo4-uie-nano-zh"], encoder=None))[0].encoder == "uie-nano-zh"


@pytest.mark.parametrize("name", ["biaffine", "magic-genia-minilm"])
def test_an_unknown_model_is_named(reproduce: ModuleType, name: str) -> None:
    with pytest.raises(AnynerError, match=f"unknown model {name}: write ARCHITECTURE-CORPUS-ENCODER"):
        reproduce.Cell.named(name)


def test_models_are_trained_and_timed(reproduce: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_here(jobs: Sequence[Any], folder: Path, **_: float) -> list[str]:
        for job in jobs:
            _, module, package, *arguments = job.command
            assert (module, package) == ("-m", "anyner")
            app(arguments, standalone_mode=False)
        return []

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(quality, "FAST", Rules(epochs=2, least_steps=2))
    Path("data/small").mkdir(parents=True)
    for part, number in (("train", 24), ("dev", 8), ("test", 6)):
        anyner.write(synthetic(number, contiguous=True, split=part).documents, f"data/small/{part}.jsonl", "jsonl")
    monkeypatch.setattr(reproduce, "run_jobs", run_here)
    name = "biaffine+contiguous-small-from_scratch"
    monkeypatch.setattr(sys, "argv", ["reproduce.py", "speed", name, "--repeats", "1", "-o", "out"])
    reproduce.main()
    told = json.loads(Path(f"out/speed-{name}.json").read_text(encoding="utf-8"))
    assert (told["architecture"], told["corpus"], told["documents"]) == ("biaffine", "small", 6)
    assert told["end_to_end_sentences_per_second"] == pytest.approx(6 / told["end_to_end_seconds"], rel=0.05)
    assert (told["trained_for"]["epochs"], told["preset"]) == (2, "contiguous")
