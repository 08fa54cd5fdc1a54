"""A calibration is measured on other documents than it was fitted on, and becomes a row of a table."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest
from run_scripts import SCRIPTS, told_at_the_end

import anyner
from anyner.corpora.synthetic import synthetic


def test_a_model_is_calibrated_on_dev_and_measured_on_test(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("dev", "test"):
        anyner.write(synthetic(60, contiguous=True, split=part).documents, tmp_path / f"{part}.jsonl", "jsonl")
    output = tmp_path / "calibration.json"
    arguments = (str(tiny_model), *(str(tmp_path / f"{part}.jsonl") for part in ("dev", "test")), "-o", str(output))
    assert not told_at_the_end("calibration.py", *arguments)
    found = json.loads(output.read_text(encoding="utf-8"))
    before, after = found["test"]["as before"], found["test"]["scores only"]
    assert (found["architecture"], found["epochs"]) == ("biaffine", 6)
    assert before["f1"] == after["f1"] and before["calibration_error"] != after["calibration_error"]
    monkeypatch.syspath_prepend(str(SCRIPTS))
    table = import_module("tables").TABLES["calibration"]
    (row,) = ([column(one) for column in table.columns.values()] for one in table.rows(found))
    assert row[0] == "biaffine" and row[2] == f"{before['calibration_error']:.3f}"
