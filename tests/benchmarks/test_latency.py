"""Latency is measured for every sentence of a bundled model's card."""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parent.parent.parent


def run_here(command: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
    """What a new process would run, in this one: each start of torch costs seconds."""
    _, _, code, *arguments = command
    printed = StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(printed):
        patched.setattr(sys, "argv", ["-c", *arguments])
        exec(compile(code, "code", "exec"), {"__name__": "__main__"})
    return subprocess.CompletedProcess(command, 0, printed.getvalue())


@pytest.mark.slow
def test_it_measures_every_sentence_and_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    module = import_module("latency")
    monkeypatch.setattr(module.subprocess, "run", run_here)
    found = module.measured("general-en", repeats=1, runs=1)
    ratios = [one["ratio"] for one in found["by_sentence"]]
    assert found["sentences"] == len({one["text"] for one in found["by_sentence"]}) == 20
    assert ratios == sorted(ratios) and found["threads"] == torch.get_num_threads()
    assert 0 < found["load_seconds"] < 60 and found["milliseconds"] > 0


def test_ratios_are_those_of_sums_and_of_each_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    module = import_module("latency")
    costs = iter([module.Cost(1, 2), module.Cost(3, 12)] + 18 * [module.Cost(1, 1)])
    monkeypatch.setattr(module, "sentence_cost", lambda *_: next(costs))
    monkeypatch.setattr(module, "load_seconds", lambda *_: 0.5)
    found = module.measured("general-en", repeats=1, runs=1)
    assert found["ratio"] == round(32 / 22, 3) and found["milliseconds"] == 1600
    assert [one["ratio"] for one in found["by_sentence"]] == [1.0] * 18 + [2.0, 4.0]
