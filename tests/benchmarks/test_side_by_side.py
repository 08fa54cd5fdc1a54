"""Trainings run side by side, each after what it starts from, within lanes, memory and time."""

from __future__ import annotations

import json
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

from anyner.training.config import Recipe

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def side_by_side(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("side_by_side")


def writing(path: Path, seconds: float = 0.0, code: int = 0) -> tuple[str, ...]:
    """A command that writes when it began and ended, and how many there were before."""
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


def test_every_training_has_before_it_what_it_starts_from(side_by_side: ModuleType) -> None:
    results = sorted(path for path in (ROOT / "benchmarks/results").glob("*-seed?.json") if "weibo4" not in path.name)
    commands = {path.stem: json.loads(path.read_text(encoding="utf-8"))["command"] for path in results}
    jobs = {job.name: job for job in side_by_side.jobs_of(commands, {})}
    order = list(jobs)
    for number, job in enumerate(jobs.values()):
        assert all(order.index(need) < number for need in job.needs)
        words = shlex.split(shlex.join(job.command))
        recipe = next(word for word in words if word.startswith("recipes/"))
        read = Recipe.read(ROOT / recipe, [after for before, after in pairwise(words) if before == "--set"])
        if read.encoder.source.startswith("runs/"):
            assert read.encoder.source.removeprefix("runs/").replace("/", "-") in job.needs
        assert {Path(one.path).parent.name for one in read.data.opinions} <= job.needs
    assert {f"opinions-cadec-{fold}" for fold in range(1, 5)} <= jobs["opinions-cadec"].needs
    assert "adapted-genia-minilm" in jobs["opinions-disc-gaps-1"].needs


def test_a_training_is_large_by_its_encoder_and_not_by_what_it_hears(side_by_side: ModuleType) -> None:
    small = "python benchmarks/accuracy.py recipes/nag_ner/cadec.yaml --set encoder.source=minilm --set data.opinions=mpnet.jsonl"
    large = "anyner train recipes/nag_ner/cadec.yaml --set encoder.source=runs/adapted-genia/mpnet -o runs/large"
    sizes = [job.gigabytes for job in side_by_side.jobs_of({"small": small}, {})]
    assert sizes == [side_by_side.SMALL]
    jobs = {job.name: job.gigabytes for job in side_by_side.jobs_of({"large": large, "known": small}, {"known": 3.0})}
    assert (jobs["large"], jobs["known"]) == (side_by_side.LARGE, 3.0)
    recipe = "anyner crossfit recipes/set_gner/cadec-opinions-mpnet.yaml"
    jobs = {
        job.name: job.gigabytes for job in side_by_side.jobs_of({"a": recipe, "b": f"{recipe} --set encoder.source=minilm"}, {})
    }
    assert (jobs["a"], jobs["b"]) == (side_by_side.LARGE, side_by_side.SMALL)


def test_the_page_tells_the_commands_that_are_run(side_by_side: ModuleType) -> None:
    page = (ROOT / "docs/choose.md").read_text(encoding="utf-8").splitlines()
    told = [line for line in page if line.startswith(("anyner adapt ", "anyner crossfit "))]
    assert len(told) >= 8
    assert set(told) <= {one.command for one in side_by_side.PREPARATIONS.values()}


def test_jobs_wait_for_what_they_need_and_for_room(side_by_side: ModuleType, tmp_path: Path) -> None:
    job = side_by_side.Job
    jobs = [
        job("a", writing(tmp_path / "a", 0.5), gigabytes=6),
        job("b", writing(tmp_path / "b", 0.5), gigabytes=6),
        job("c", writing(tmp_path / "c"), frozenset({"a"}), 1),
        job("d", writing(tmp_path / "d"), gigabytes=99),
    ]
    assert side_by_side.run(jobs, tmp_path / "out", lanes=3, gigabytes=10, seconds=60) == []
    a, b, c, d = (times(tmp_path / name)[0] for name in "abcd")
    assert c[0] >= a[1] and (b[0] >= a[1] or a[0] >= b[1])
    assert all(one[1] <= d[0] or d[1] <= one[0] for one in (a, b, c)), "what is too large runs alone"
    assert side_by_side.run(jobs, tmp_path / "out", lanes=3, gigabytes=10, seconds=60) == []
    assert len(times(tmp_path / "a")) == 1, "what is done is not done again"


def test_what_fails_is_tried_again_and_holds_up_only_what_needs_it(side_by_side: ModuleType, tmp_path: Path) -> None:
    job = side_by_side.Job
    jobs = [
        job("bad", writing(tmp_path / "bad", code=3)),
        job("after", writing(tmp_path / "after"), frozenset({"bad"})),
        job("fine", writing(tmp_path / "fine")),
    ]
    assert side_by_side.run(jobs, tmp_path / "out", lanes=1, gigabytes=10, seconds=60) == ["bad", "after"]
    assert len(times(tmp_path / "bad")) == 2 and not (tmp_path / "after").exists() and (tmp_path / "fine").exists()


@pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN], ids=["as usual", "in the background"])
def started(request: pytest.FixtureRequest) -> Iterator[None]:
    """A shell has what it starts in the background ignore Ctrl-C."""
    usual = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.mark.usefixtures("started")
def test_when_time_is_up_they_are_interrupted(side_by_side: ModuleType, tmp_path: Path) -> None:
    jobs = [side_by_side.Job(name, writing(tmp_path / name, 60)) for name in ("long", "late")]
    began = time.monotonic()
    assert side_by_side.run(jobs, tmp_path / "out", lanes=1, gigabytes=10, seconds=1) == ["long", "late"]
    assert time.monotonic() - began < 30
    assert "KeyboardInterrupt" in (tmp_path / "out/long.log").read_text(encoding="utf-8")
    assert not (tmp_path / "out/late.log").exists()
