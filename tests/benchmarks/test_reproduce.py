"""The trainings behind the tables run again after what they start from; brief ones are timed."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
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
def reproduce(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("reproduce")


def test_every_training_has_before_it_what_it_starts_from(reproduce: ModuleType) -> None:
    results = sorted(path for path in (ROOT / "benchmarks/results").glob("*-seed?.json") if "weibo4" not in path.name)
    commands = {path.stem: json.loads(path.read_text(encoding="utf-8"))["command"] for path in results}
    jobs = {job.name: job for job in reproduce.jobs_of(commands, {})}
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


def test_a_training_is_large_by_its_encoder_and_not_by_its_soft_labels(reproduce: ModuleType) -> None:
    small = "anyner train recipes/nag_ner/cadec.yaml --set encoder.source=minilm --set data.opinions=mpnet.jsonl -o runs/small"
    large = "anyner train recipes/nag_ner/cadec.yaml --set encoder.source=runs/adapted-genia/mpnet -o runs/large"
    sizes = [job.gigabytes for job in reproduce.jobs_of({"small": small}, {})]
    assert sizes == [reproduce.SMALL]
    jobs = {job.name: job.gigabytes for job in reproduce.jobs_of({"large": large, "known": small}, {"known": 3.0})}
    assert (jobs["large"], jobs["known"]) == (reproduce.LARGE, 3.0)
    recipe = "anyner crossfit recipes/set_gner/cadec-opinions-mpnet.yaml"
    jobs = {job.name: job.gigabytes for job in reproduce.jobs_of({"a": recipe, "b": f"{recipe} --set encoder.source=minilm"}, {})}
    assert (jobs["a"], jobs["b"]) == (reproduce.LARGE, reproduce.SMALL)


def test_the_page_tells_the_commands_that_are_run(reproduce: ModuleType) -> None:
    page = (ROOT / "docs/choose.md").read_text(encoding="utf-8").splitlines()
    told = [line for line in page if line.startswith(("anyner adapt ", "anyner crossfit "))]
    assert len(told) >= 8
    assert set(told) <= {one.command for one in reproduce.PREPARATIONS.values()}


def test_a_brief_training_keeps_what_speed_depends_on(reproduce: ModuleType) -> None:
    for name, result in reproduce.results_of([], "*", "-seed0").items():
        long, brief = (Recipe.of(one, name) for one in (dict(result["recipe"]), reproduce.brief(result["recipe"])))
        assert (brief.architecture, brief.head, brief.options, brief.text) == (
            long.architecture,
            long.head,
            long.options,
            long.text,
        )
        assert brief.encoder.model_copy(update={"source": long.encoder.source}) == long.encoder
        assert 3 <= brief.training.epochs <= max(3, long.training.epochs // 2 + 1)
        assert brief.chosen is None and not brief.data.opinions and "/" not in brief.encoder.source


def test_every_architecture_on_every_corpus_is_timed(reproduce: ModuleType) -> None:
    names = reproduce.results_of([], "minilm", "-seed0")
    assert len(names) == 5 * len(reproduce.CORPORA)
    assert all(name.endswith("-minilm-seed0") for name in names)


def run_here(jobs: Sequence[Any], folder: Path, **_: float) -> list[str]:
    """The trainings in this process; that each has one of its own is tried with the script for it."""
    for job in jobs:
        _, script, *arguments = job.command
        assert not told_at_the_end(Path(script).name, *arguments)
    return []


def test_models_are_trained_and_timed(reproduce: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for part, number in (("train", 24), ("dev", 8), ("test", 6)):
        Path("data/small").mkdir(parents=True, exist_ok=True)
        anyner.write(synthetic(number, contiguous=True, split=part).documents, f"data/small/{part}.jsonl", "jsonl")
    Path("results").mkdir()
    Path("results/biaffine-small-fresh-seed0.json").write_text(json.dumps({"recipe": RECIPE}), encoding="utf-8")
    monkeypatch.setattr(reproduce, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(reproduce, "run_jobs", run_here)
    monkeypatch.setattr(sys, "argv", ["reproduce.py", "speed", "biaffine-small-fresh-seed0", "--repeats", "1", "-o", "out"])
    reproduce.main()
    told = json.loads(Path("out/speed-biaffine-small-fresh.json").read_text(encoding="utf-8"))
    assert (told["architecture"], told["corpus"], told["documents"]) == ("biaffine", "small", 6)
    assert told["end_to_end_sentences_per_second"] == pytest.approx(6 / told["end_to_end_seconds"], rel=0.05)
    assert told["trained_for"]["epochs"] == 4
    began = Path("runs/reproduce/speed/biaffine-small-fresh-seed0/config.json").stat().st_mtime_ns
    reproduce.main()
    assert Path("runs/reproduce/speed/biaffine-small-fresh-seed0/config.json").stat().st_mtime_ns == began, "it was trained again"
    other = {**RECIPE, "text": {"words": "given"}}
    Path("results/biaffine-small-fresh-seed0.json").write_text(json.dumps({"recipe": other}), encoding="utf-8")
    with pytest.raises(AnynerError, match="was trained with other settings than biaffine-small-fresh-seed0 has now"):
        reproduce.main()


def test_an_encoder_without_results_is_told(reproduce: ModuleType) -> None:
    with pytest.raises(AnynerError, match="there is no results file with the encoder none"):
        reproduce.results_of([], "none", "-seed0")


def test_commands_are_listed_after_what_they_start_from(
    reproduce: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "own.txt").write_text("mine: anyner train recipes/biaffine/demo.yaml\n\n", encoding="utf-8")
    options = ["biaffine-cadec-minilm-seed0", "--commands", str(tmp_path / "own.txt"), "--list"]
    monkeypatch.setattr(sys, "argv", ["reproduce.py", "accuracy", *options])
    reproduce.main()
    listed = capsys.readouterr().out.splitlines()
    assert listed[0] == "mine: -m anyner train recipes/biaffine/demo.yaml"
    assert listed[1].startswith("opinions-cadec-1: -m anyner crossfit recipes/")
    assert listed[-1].startswith("biaffine-cadec-minilm-seed0: benchmarks/reproduce.py train recipes/biaffine/cadec.yaml")
    assert listed[-1].endswith("(after opinions-cadec)")


def test_all_is_accuracy_then_speed_then_tables(reproduce: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    for name in ("accuracy", "speed", "update_pages"):
        monkeypatch.setattr(reproduce, name, lambda *_, name=name: done.append(name))
    for options in ([], ["--list"]):
        monkeypatch.setattr(sys, "argv", ["reproduce.py", "all", *options])
        reproduce.main()
    assert done == ["accuracy", "speed", "update_pages", "accuracy"]
