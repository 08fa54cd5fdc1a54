"""`make demo` runs to the end: both bundled models, a fine-tuning, and scores before and after it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
import yaml

from anyner.storage.load import load

ROOT = Path(__file__).parent.parent.parent


def test_the_demo_shows_both_models_and_leaves_a_third(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    demo = import_module("demo")
    recipe = yaml.safe_load(demo.RECIPE.read_text(encoding="utf-8"))
    recipe["data"]["synthetic"] |= {"sentences": 16}
    recipe["training"]["epochs"] = 1
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    monkeypatch.setattr(demo, "RECIPE", tmp_path / "small.yaml")
    monkeypatch.setattr(demo, "FOLDER", tmp_path / "demo")
    demo.main()
    out = capsys.readouterr().out
    for sentence in (*demo.GENERAL, *demo.BIOMEDICAL):
        assert sentence in out
    assert out.count(demo.OWN) == 2 and "strict F1 on 4 unseen sentences  before  after" in out
    assert out.splitlines()[-1] == "  .venv/bin/anyner serve general-en biomed-en runs/demo"
    before = {
        line.split()[0]: float(line.split()[1]) for line in out.splitlines() if line.startswith(("Symptom", "Place", "all "))
    }
    assert before["Symptom"] == 0 < before["all"] < before["Place"]
    assert "Symptom" in load(tmp_path / "demo").config.labels
