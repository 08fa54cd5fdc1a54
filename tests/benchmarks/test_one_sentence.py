"""The cost of one sentence is measured for every sentence of a bundled model's card."""

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def test_it_measures_every_sentence_and_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    found = import_module("one_sentence").measured("general-en", repeats=2, runs=1)
    assert found["sentences"] == len(found["ratio_by_sentence"]) == 20
    assert found["ratio_by_sentence"][0] <= found["ratio"] <= found["ratio_by_sentence"][-1]
    assert 0 < found["load_seconds"] < 60 and found["milliseconds"] > 0
