"""Options and policies tried on a saved model, thresholds chosen anew for each."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

import anyner
from anyner.errors import AnynerError
from anyner.training.config import Recipe

ROOT = Path(__file__).parent.parent.parent
RECIPE = Recipe.of(
    {
        "data": {"synthetic": {"contiguous": True, "train": 60, "dev": 20}},
        "encoder": {"fresh_width": 32, "fresh_layers": 1, "fresh_vocabulary": 300},
        "training": {"epochs": 3, "batch_sentences": 8, "encoder_lr": 3e-3, "head_lr": 3e-3},
    },
    "recipe",
)


def test_policies_are_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    decoding = import_module("decoding")
    result = anyner.train(RECIPE, tmp_path / "model")
    policies = ["--set", "overlap=nested", "--set", "overlap=flat"]
    monkeypatch.setattr(sys, "argv", ["decoding.py", str(tmp_path / "model"), *policies, "-o", str(tmp_path / "tried.json")])
    decoding.main()
    nested, flat = json.loads((tmp_path / "tried.json").read_text(encoding="utf-8"))["tried"]
    assert (nested["set"], flat["set"]) == (["overlap=nested"], ["overlap=flat"])
    assert anyner.load(tmp_path / "model").config.overlap == "nested"
    assert nested["dev_f1"] == pytest.approx(result.outcome.best_f1)
    assert flat["dev_f1"] != nested["dev_f1"]
    with pytest.raises(AnynerError, match="--set 'doubt': write name=value"):
        decoding.changed(anyner.load(tmp_path / "model").config, "doubt")
