"""The rates and the memory of a long run, from samples of it."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def bulk(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("bulk")


def test_the_rate_of_each_tenth(bulk: ModuleType) -> None:
    """A start of two seconds, then a thousand documents a second, the last tenth at half of that."""
    seen = [bulk.Sample(0.0, 0, 50.0, 0.0)]
    seen += [bulk.Sample(2.0 + tenth, 1000 * tenth, 60.0, 0.5 * tenth) for tenth in range(1, 10)]
    seen.append(bulk.Sample(13.0, 10_000, 60.0, 5.0))
    assert bulk.rates(seen, 10_000) == [333.333, *[1000.0] * 8, 500.0]
    assert bulk.rates(seen, 10_000, "work") == [2000.0] * 10


def test_a_process_is_sampled_until_it_ends(bulk: ModuleType, tmp_path: Path) -> None:
    parts = tmp_path / "out.jsonl.parts"
    parts.mkdir()
    (parts / "000000000").touch()
    (parts / "run.json").touch()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.6)"]) as process:
        seen = list(bulk.samples(process, tmp_path / "out.jsonl"))
    assert seen and all(look.documents == bulk.MOST_DOCUMENTS and look.megabytes > 1 for look in seen)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_examples_are_measured_in_memory_and_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    measured = import_module("large_corpus").measured
    for path in (None, str(tmp_path / "examples.arrow")):
        assert measured(12, path)["reading_microseconds_a_word"] > 0
    assert (tmp_path / "examples.arrow").is_file()
