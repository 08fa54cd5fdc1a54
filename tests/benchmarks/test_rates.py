"""Rates of prediction: models of the settings behind the tables, trained briefly, timed in turn."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from run_scripts import told_at_the_end

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.errors import AnynerError
from anyner.training.config import Recipe

ROOT = Path(__file__).parent.parent.parent
RECIPE = {
    "data": {"folder": "data/small", "opinions": [{"path": "runs/opinions.jsonl"}]},
    "encoder": {"source": "runs/adapted/fresh", "fresh_width": 16, "fresh_layers": 1, "fresh_vocabulary": 200},
    "training": {"epochs": 7, "batch_sentences": 8, "adversarial": 0.5, "average_epochs": 1.0},
    "chosen": {"epoch": 7, "thresholds": {"score": 0.4}},
}


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("rates")


def test_a_brief_training_keeps_what_speed_depends_on(rates: ModuleType) -> None:
    for name, result in rates.chosen([], "*").items():
        long, brief = (Recipe.of(one, name) for one in (dict(result["recipe"]), rates.brief(result["recipe"])))
        assert (brief.architecture, brief.head, brief.options, brief.text) == (
            long.architecture,
            long.head,
            long.options,
            long.text,
        )
        assert brief.encoder.model_copy(update={"source": long.encoder.source}) == long.encoder
        assert 3 <= brief.training.epochs <= max(3, long.training.epochs // 2 + 1)
        assert brief.chosen is None and not brief.data.opinions and "/" not in brief.encoder.source


def test_every_architecture_on_every_corpus_is_timed(rates: ModuleType) -> None:
    names = rates.chosen([], "minilm")
    assert len(names) == 5 * len(rates.CORPORA)
    assert all(name.endswith("-minilm-seed0") for name in names)


def run_here(jobs: Sequence[Any], folder: Path, **_: float) -> list[str]:
    """The trainings in this process; that each has one of its own is tried with the script for it."""
    for job in jobs:
        _, script, *arguments = job.command
        assert not told_at_the_end(Path(script).name, *arguments)
    return []


def test_models_are_trained_and_timed(rates: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for part, number in (("train", 24), ("dev", 8), ("test", 6)):
        Path("data/small").mkdir(parents=True, exist_ok=True)
        anyner.write(synthetic(number, contiguous=True, split=part).documents, f"data/small/{part}.jsonl", "jsonl")
    Path("results").mkdir()
    Path("results/biaffine-small-fresh-seed0.json").write_text(json.dumps({"recipe": RECIPE}), encoding="utf-8")
    monkeypatch.setattr(rates, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(rates, "run", run_here)
    monkeypatch.setattr(sys, "argv", ["rates.py", "biaffine-small-fresh-seed0", "--repeats", "1", "-o", "out"])
    rates.main()
    told = json.loads(Path("out/speed-biaffine-small-fresh.json").read_text(encoding="utf-8"))
    assert (told["architecture"], told["corpus"], told["documents"]) == ("biaffine", "small", 6)
    assert told["end_to_end_sentences_per_second"] == pytest.approx(6 / told["end_to_end_seconds"], rel=0.05)
    assert told["trained_for"]["epochs"] == 4
    began = Path("runs/rates/biaffine-small-fresh-seed0/config.json").stat().st_mtime_ns
    rates.main()
    assert Path("runs/rates/biaffine-small-fresh-seed0/config.json").stat().st_mtime_ns == began, "it was trained again"
    other = {**RECIPE, "text": {"words": "given"}}
    Path("results/biaffine-small-fresh-seed0.json").write_text(json.dumps({"recipe": other}), encoding="utf-8")
    with pytest.raises(AnynerError, match="was trained with other settings than those behind biaffine-small-fresh-seed0 now"):
        rates.main()


def test_an_encoder_without_results_is_told(rates: ModuleType) -> None:
    with pytest.raises(AnynerError, match="there is no results file of an encoder none"):
        rates.chosen([], "none")


def test_a_results_file_that_is_not_there_is_told() -> None:
    assert told_at_the_end("rates.py", "none") == "rates.py: there is no results file none"
