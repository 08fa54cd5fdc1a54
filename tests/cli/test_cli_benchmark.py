"""`anyner benchmark`: files in the form of the project's own results."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from command_line import anyner_command

import anyner
from anyner.benchmark import memory
from anyner.benchmark.accuracy import corpus_of
from anyner.benchmark.record import corpus_name
from anyner.cli import benchmark as command
from anyner.corpora.synthetic import synthetic
from anyner.training.config import Recipe
from anyner.training.progress import EpochRecord, TerminalListener

RECIPE = """
data: {synthetic: {contiguous: true, train: 30, dev: 10, test: 8}}
encoder: {scratch: {width: 16, layers: 1, vocabulary: 200}}
training: {epochs: 2, batch_sentences: 8, encoder_lr: 3.0e-3, head_lr: 3.0e-3}
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(RECIPE, encoding="utf-8")
    return path


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_a_recipe_is_trained_for_each_seed_and_measured(recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "WORDS", (1000, 2000))
    monkeypatch.setattr(memory, "_measured_apart", lambda _, words, __: {"words": words, "beyond_bytes": words * 2**20})
    answer = anyner_command(
        "benchmark", recipe, "--seeds", 2, "-o", tmp_path / "out", "--keep", tmp_path / "models", "--repeats", 1
    )
    assert answer.code == 0, answer.err
    names = {path.name for path in (tmp_path / "out").iterdir()}
    plain = "biaffine-synthetic-from_scratch-seed"
    assert names == {f"{plain}0.json", f"{plain}1.json", f"speed-{plain}0.json", f"memory-{plain}0.json"}
    assert answer.out.count("\n") == 4 and "measuring speed" in answer.err
    for seed in (0, 1):
        result, model = read(tmp_path / "out" / f"{plain}{seed}.json"), anyner.load(tmp_path / "models" / f"{plain}{seed}")
        test = synthetic(8, contiguous=True, split="test").documents
        assert result["test"]["strict"]["f1"] == pytest.approx(anyner.evaluate(model, test).strict.f1)
        assert result["prediction_sentences_per_second"] > 0
        assert (result["what"], result["seed"], result["epochs"]) == ("accuracy", seed, 2)
        assert result["command"].split()[-1] and "recipe" in result
    speed, used = read(tmp_path / "out" / f"speed-{plain}0.json"), read(tmp_path / "out" / f"memory-{plain}0.json")
    assert speed["device_ratio"] >= 0.5 and (speed["corpus"], speed["documents"]) == ("synthetic", 8)
    assert [one["words"] for one in used["documents"]] == [1000, 2000]
    assert "1,000.0 MiB more for 2,000 words than for 1,000" in answer.out


def test_memory_is_measured_in_a_new_process(tiny_model: Path) -> None:
    (found,) = memory.memory(str(tiny_model), (1000,))["documents"]
    assert found["words"] >= 1000 and found["entities"] > 0 and found["coverage"] == 1.0
    assert 0 < found["beyond_bytes"] < found["peak_bytes"]


@pytest.mark.parametrize(("more", "bounded"), [(10**6, True), (10**8, False)])
def test_the_longest_text_is_compared_with_the_shortest(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch, more: int, bounded: bool
) -> None:
    monkeypatch.setattr(memory, "_measured_apart", lambda _, words, __: {"words": words, "beyond_bytes": 7 + (words > 1) * more})
    told = memory.memory(str(tiny_model), (1, 2))
    assert [one["words"] for one in told["documents"]] == [1, 2]
    assert (told["growth_beyond_bytes"], told["bounded"]) == (more, bounded)


def test_a_trained_model_is_scored_on_another_corpus(recipe: Path, tmp_path: Path) -> None:
    anyner.train(recipe, tmp_path / "model")
    corpus = tmp_path / "posts.jsonl"
    anyner.write(synthetic(5, seed=3, contiguous=True).documents, corpus, "jsonl")
    answer = anyner_command("benchmark", tmp_path / "model", corpus, "--only", "accuracy", "-o", tmp_path / "out", "-q")
    assert (answer.code, answer.err) == (0, "")
    result = read(tmp_path / "out/biaffine-posts-from_scratch-seed0.json")
    assert result["scored_on"] == str(corpus)
    assert "on 5 documents" in answer.out


def test_what_is_missing_is_told_before_anything_is_trained(recipe: Path, tmp_path: Path) -> None:
    anyner_command("benchmark", tmp_path / "none.yaml").assert_one_line("there is no recipe")
    anyner_command("benchmark", tmp_path / "none").assert_one_line("there is no model folder")
    (tmp_path / "empty").mkdir()
    anyner_command("benchmark", tmp_path / "empty", "-q").assert_one_line("does not say how it was trained")
    anyner_command("benchmark", recipe, tmp_path / "none.jsonl").assert_one_line("no such file")
    anyner.write(synthetic(5, contiguous=True).documents, tmp_path / "some.jsonl", "jsonl")
    own = ("data.synthetic=null", f"data.train={tmp_path}/some.jsonl", f"data.dev={tmp_path}/some.jsonl")
    no_test = (*(part for change in own for part in ("--set", change)), "--keep", tmp_path / "models")
    anyner_command("benchmark", recipe, *no_test).assert_one_line("names no test documents")
    assert not (tmp_path / "models").exists()
    (tmp_path / "file").write_text("", encoding="utf-8")
    anyner_command("benchmark", recipe, "-o", tmp_path / "file").assert_one_line("not a folder")
    assert anyner_command("benchmark", recipe, "--only", "beauty").code == 2
    assert anyner_command("benchmark", tmp_path / "empty", "--seeds", "2").code == 2


@pytest.mark.parametrize(
    ("train", "name"),
    [
        (["mine/train.jsonl"], "mine"),
        (["notes.conll.gz"], "notes"),
        (["a/train.jsonl", "b/train.conll"], "a+b"),
        (["train.jsonl"], "train"),
    ],
)
def test_a_corpus_of_files_is_named_by_them(train: list[str], name: str) -> None:
    assert corpus_of(Recipe.of({"data": {"train": train, "dev": "dev.jsonl"}}, "recipe")) == name


def test_results_are_named_by_their_corpus() -> None:
    assert corpus_name("data/genia/test.jsonl.xz") == "genia"
    assert corpus_name("data/genia/dev.jsonl") == "genia-dev"
    assert corpus_name("posts.jsonl") == "posts"
    assert corpus_name("test.jsonl") == "test"
    assert corpus_name("synthetic:contiguous:test") == "synthetic"


def test_an_interrupted_training_gives_no_result(recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    epoch = TerminalListener.epoch

    def impatient(listener: TerminalListener, record: EpochRecord) -> None:
        epoch(listener, record)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(TerminalListener, "epoch", impatient)
    answer = anyner_command("benchmark", recipe, "-o", tmp_path / "out", "--only", "accuracy", "--set", "training.epochs=3")
    assert answer.code == 130
    assert not (tmp_path / "out").exists()


def test_results_of_another_recipe_are_not_written_over(recipe: Path, tmp_path: Path) -> None:
    command = ("benchmark", recipe, "-o", tmp_path / "out", "--only", "accuracy", "-q")
    assert anyner_command(*command, "--set", "training.epochs=1").code == 0
    (path,) = (tmp_path / "out").iterdir()
    before = path.read_bytes()
    anyner_command(*command).assert_one_line(f"{path} holds something else than a result of this recipe")
    assert path.read_bytes() == before
    assert anyner_command(*command, "--set", "training.epochs=1").code == 0
