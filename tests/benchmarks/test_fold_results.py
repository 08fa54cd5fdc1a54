"""What `anyner choose` found for variants becomes one file, and a row of a table for each."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def found_for(folder: Path, epochs: list[int], recipe: str, right: int) -> str:
    folder.mkdir()
    scores = {"score": {"f1": right / 200}, "discontinuous": {"f1": right / 400, "gold": 1200}}
    chosen = {"architecture": "nag_ner", "epoch": 3, "thresholds": {"score": 0.3}, "epochs_of_folds": epochs, **scores}
    (folder / "chosen.json").write_text(json.dumps(chosen), encoding="utf-8")
    (folder / "recipe.yaml").write_text(recipe, encoding="utf-8")
    return str(folder)


def collected(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks/folds.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_each_variant_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = found_for(tmp_path / "plain", [3, 4], "data: {folder: data/x}\ntraining: {epochs: 5}\n", 150)
    more = found_for(tmp_path / "more", [2, 5], "data: {folder: data/x, joined: 6}\ntraining: {epochs: 5}\n", 151)
    done = collected(plain, more, "-o", str(tmp_path / "folds-x.json"))
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "folds-x.json").read_text(encoding="utf-8"))
    assert result["everywhere"] == {"data.folder": "data/x", "training.epochs": 5}
    assert "machine" not in result
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    rows = import_module("tables").table("folds", [("folds-x.json", result)], {}).splitlines()[2:]
    assert rows == [
        "| nothing else | 75.00 | 37.50 | 1,200 | 3, 4 | `folds-x.json` |",
        "| `data.joined=6` | 75.50 | 37.75 | 1,200 | 2, 5 | `folds-x.json` |",
    ]


def test_a_folder_without_is_told_in_one_line(tmp_path: Path) -> None:
    done = collected(str(tmp_path), "-o", str(tmp_path / "out.json"))
    assert done.returncode == 1
    assert done.stderr == f"folds.py: {tmp_path}: holds no chosen.json: anyner choose has not ended there\n"
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize("wrong", ["{", "{}", "[]"])
def test_a_folder_that_is_broken_is_told_in_one_line(wrong: str, tmp_path: Path) -> None:
    folder = found_for(tmp_path / "folds", [1], "data: {folder: data/x}", 3)
    (tmp_path / "folds/chosen.json").write_text(wrong, encoding="utf-8")
    done = collected(folder, "-o", str(tmp_path / "out.json"))
    assert done.stderr == f"folds.py: {folder}: chosen.json or recipe.yaml is not what anyner choose writes\n"
    assert not (tmp_path / "out.json").exists()
