"""Jobs run in parallel, each after its dependencies, within lanes, memory and time."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("jobs")


def writing(path: Path, seconds: float = 0.0, code: int = 0) -> tuple[str, ...]:
    """A command that writes when it began and ended, and how many had run before."""
    script = f"""
import sys, time
began = time.time()
time.sleep({seconds})
open({str(path)!r}, "a").write(f"{{began}} {{time.time()}}\\n")
sys.exit({code})
"""
    return (sys.executable, "-c", script)


def times(path: Path) -> list[list[float]]:
    return [[float(one) for one in line.split()] for line in path.read_text(encoding="utf-8").splitlines()]


def test_jobs_wait_for_dependencies_and_memory(jobs: ModuleType, tmp_path: Path) -> None:
    job = jobs.Job
    listed = [
        job("a", writing(tmp_path / "a", 0.5), gigabytes=6),
        job("b", writing(tmp_path / "b", 0.5), gigabytes=6),
        job("c", writing(tmp_path / "c"), frozenset({"a"}), 1),
        job("d", writing(tmp_path / "d"), gigabytes=99),
    ]
    assert jobs.run_jobs(listed, tmp_path / "out", lanes=3, gigabytes=10, seconds=60) == []
    a, b, c, d = (times(tmp_path / name)[0] for name in "abcd")
    assert c[0] >= a[1] and (b[0] >= a[1] or a[0] >= b[1])
    assert all(one[1] <= d[0] or d[1] <= one[0] for one in (a, b, c)), "what is too large runs alone"
    assert jobs.run_jobs(listed, tmp_path / "out", lanes=3, gigabytes=10, seconds=60) == []
    assert len(times(tmp_path / "a")) == 1, "what is done is not done again"


def test_a_failed_job_is_retried_and_blocks_only_its_dependents(jobs: ModuleType, tmp_path: Path) -> None:
    job = jobs.Job
    listed = [
        job("bad", writing(tmp_path / "bad", code=3)),
        job("after", writing(tmp_path / "after"), frozenset({"bad"})),
        job("fine", writing(tmp_path / "fine")),
    ]
    assert jobs.run_jobs(listed, tmp_path / "out", lanes=1, gigabytes=10, seconds=60) == ["bad", "after"]
    assert len(times(tmp_path / "bad")) == 2 and not (tmp_path / "after").exists() and (tmp_path / "fine").exists()


@pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN], ids=["as usual", "in the background"])
def started(request: pytest.FixtureRequest) -> Iterator[None]:
    """Background processes of a shell ignore Ctrl-C."""
    usual = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.mark.usefixtures("started")
def test_jobs_are_interrupted_when_time_is_up(jobs: ModuleType, tmp_path: Path) -> None:
    listed = [jobs.Job(name, writing(tmp_path / name, 60)) for name in ("long", "late")]
    began = time.monotonic()
    assert jobs.run_jobs(listed, tmp_path / "out", lanes=1, gigabytes=10, seconds=1) == ["long", "late"]
    assert time.monotonic() - began < 30
    assert "KeyboardInterrupt" in (tmp_path / "out/long.log").read_text(encoding="utf-8")
    assert not (tmp_path / "out/late.log").exists()
