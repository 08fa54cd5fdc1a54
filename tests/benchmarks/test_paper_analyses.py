"""The analyses of the papers run, and what they count adds up."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import anyner
from anyner.architectures import registry
from anyner.corpora.synthetic import synthetic
from anyner.training.config import Recipe

ROOT = Path(__file__).parent.parent.parent
Script = Callable[..., None]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """Runs a script of benchmarks/ in this process, with arguments; architectures that it registers are removed afterwards."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    known = dict(registry._modules())
    monkeypatch.setattr(registry, "_modules", lambda: known)
    for name in ("rival", "papers.set_gner"):  # the rival registers only when it is imported for the first time
        monkeypatch.delitem(sys.modules, name, raising=False)

    def run(name: str, *arguments: object) -> None:
        monkeypatch.setattr(sys, "argv", [f"benchmarks/{name.replace('.', '/')}.py", *map(str, arguments)])
        importlib.import_module(name).main()

    return run


@pytest.fixture(scope="module")
def located(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small locate_label model whose seeds skip some lengths."""
    recipe = Recipe.of(
        {
            "data": {"synthetic": {"contiguous": True, "sentences": 24}},
            "encoder": {"scratch_width": 48, "pooling": "first", "lstm_layers": 0},
            "architecture": "locate_label",
            "head": {"lengths": [1, 2, 4, 6]},
            "training": {
                "word_dropout": 0,
                "average_epochs": 0,
                "epochs": 5,
                "batch_sentences": 4,
                "encoder_lr": 4e-3,
                "head_lr": 4e-3,
                "passages": False,
            },
        },
        "recipe",
    )
    return anyner.train(recipe, tmp_path_factory.mktemp("located") / "model").folder


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    anyner.write(synthetic(20, seed=8, contiguous=True).documents, path, "jsonl")
    return path


def result(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert "python benchmarks/" in read["command"]
    return read


def test_the_first_stage_is_counted(script: Script, located: Path, corpus: Path, tmp_path: Path) -> None:
    script("papers.locate_label", "stage", located, corpus, "-o", tmp_path / "out.json")
    found = result(tmp_path / "out.json")
    documents = anyner.read(corpus).documents
    predicted = anyner.load(located).predict([document.text for document in documents])
    entities = sum(len(document.entities) for document in predicted)
    assert entities > 20
    assert sum(found["offsets"].values()) >= 2 * entities, "every entity comes of a seed, which has two boundaries"
    assert found["seeds_passed_per_entity"] >= found["spans_per_entity"] > 0
    assert sum(row["gold"] for row in found["lengths"]) == sum(len(document.entities) for document in documents)
    assert {row["length"] for row in found["lengths"] if not row["seed_in_training"]} >= {"3", "5"}
    right = sum(row["recall"] * row["gold"] for row in found["lengths"])
    strict = anyner.evaluate(anyner.load(located), documents).strict
    assert right == pytest.approx(strict.correct)


def test_groups_of_models_are_compared_by_length(script: Script, located: Path, corpus: Path, tmp_path: Path) -> None:
    groups = [f"all lengths={located},{located}", f"same={located},{located}", f"no soft-NMS={located},{located}@soft_nms=null"]
    script("papers.locate_label", "lengths", *groups, "--corpus", corpus, "--resamples", 50, "-o", tmp_path / "out.json")
    first, same, without = result(tmp_path / "out.json")["groups"]
    strict = anyner.evaluate(anyner.load(located), anyner.read(corpus).documents).strict
    assert first["f1"]["all"]["seeds"] == pytest.approx([strict.f1] * 2)
    assert first["f1"]["all"]["entities"] == strict.gold == first["f1"]["1-4"]["entities"] + first["f1"]["5+"]["entities"]
    assert (same["f1"]["5+"]["first_is_better_by"], same["f1"]["5+"]["p"]) == (0.0, 1.0)
    assert without["options"] == {"soft_nms": None}
    assert without["f1"]["all"]["mean"] == pytest.approx(first["f1"]["all"]["mean"] - without["f1"]["all"]["first_is_better_by"])


def test_a_holdout_keeps_documents_together_and_loses_none(script: Script, tmp_path: Path) -> None:
    documents = [
        anyner.Document.from_words(["Pain", str(place)], (), id=str(place), doc=f"d{place // 3}", sentence=place % 3)
        for place in range(30)
    ]
    anyner.write(documents, tmp_path / "all.jsonl", "jsonl-tokens")
    files = [tmp_path / f"{name}.jsonl" for name in ("all", "train", "dev")]
    script("papers.locate_label", "holdout", *files, "--share", 0.2)
    train, dev = (anyner.read(tmp_path / f"{name}.jsonl").documents for name in ("train", "dev"))
    assert sorted(document.id or "" for document in (*train, *dev)) == sorted(document.id or "" for document in documents)
    assert len(dev) == 6
    assert {document.doc for document in train}.isdisjoint(document.doc for document in dev)


@pytest.mark.slow
def test_spans_steps_seeds_and_swaps_of_a_diffusion_model_are_measured(script: Script, corpus: Path, tmp_path: Path) -> None:
    recipe = Recipe.of(
        {
            "data": {"synthetic": {"contiguous": True, "sentences": 16}},
            "encoder": {"scratch_width": 48, "pooling": "first", "lstm_layers": 0},
            "architecture": "diffusion_ner",
            "head": {"width": 32},
            "training": {
                "word_dropout": 0,
                "average_epochs": 0,
                "epochs": 3,
                "batch_sentences": 4,
                "encoder_lr": 4e-3,
                "head_lr": 4e-3,
                "passages": False,
            },
        },
        "recipe",
    )
    model = anyner.train(recipe, tmp_path / "model").folder
    options = ("--seeds", 2, "--spans", 5, 60, "--steps", 1, 5)
    script("papers.diffusion_ner", "sweep", model, corpus, *options, "-o", tmp_path / "out.json")
    found = result(tmp_path / "out.json")
    assert [(point["spans"], point["steps"]) for point in found["curves"]] == [(5, 1), (5, 5), (60, 1), (60, 5)]
    strict = anyner.evaluate(anyner.load(model), anyner.read(corpus).documents).strict
    assert found["curves"][-1]["f1"] == pytest.approx(strict.f1) == pytest.approx(found["seeds"]["f1"][0])
    assert [row["step"] for row in found["swap"]] == [0, 49, 199, 399, 599, 799, 999]
    assert all(0 <= row["followed"] + row["stayed"] <= 1 for row in found["swap"])
    script("papers.diffusion_ner", "trace", model, "Pain in the left knee.", "--steps", 3, "-o", tmp_path / "steps.json")
    refined = result(tmp_path / "steps.json")
    assert refined["words"] == ["Pain", "in", "the", "left", "knee", "."]
    assert [step["step"] for step in refined["steps"]] == [999, 665, 332]
    assert {sum(count for *_, count in step[key]) for step in refined["steps"] for key in ("spans", "answers")} == {60}


@pytest.mark.slow
def test_generation_is_compared_with_its_rival(script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = synthetic(6, seed=8).documents
    for name, fewer in (("BEAMS", (1, 3)), ("REPEATS", 1)):
        monkeypatch.setattr(f"papers.set_gner.{name}", fewer)
    anyner.write(documents, tmp_path / "data.jsonl", "jsonl")
    settings = [
        "encoder.scratch_width=48", "training.batch_sentences=4",
        "training.encoder_lr=0.004", "training.head_lr=0.004", "training.epochs=4", "data.synthetic=null",
        "training.passages=false", "training.word_dropout=0", "encoder.lstm_layers=0", "head.layers=1",
        f"data.train=[{', '.join([f'{tmp_path}/data.jsonl'] * 4)}]", f"data.dev={tmp_path}/data.jsonl",
    ]  # fmt: skip
    arguments = [argument for change in settings for argument in ("--set", change)]
    recipe = ROOT / "recipes/set_gner/demo.yaml"
    common = ("--dev-only", "-o", tmp_path)
    script("reproduce", "train", recipe, *arguments, *common, "--keep", tmp_path / "set", "--name", "set")
    rival = ("--plugin", "rival", "--set", "architecture=sequence", "--keep", tmp_path / "sequence", "--name", "sequence")
    script("reproduce", "train", recipe, *arguments, *common, *rival)
    models = (tmp_path / "sequence", tmp_path / "set")
    script("papers.set_gner", "compare", *models, tmp_path / "data.jsonl", "-o", tmp_path / "out.json")
    found = result(tmp_path / "out.json")
    for name in ("set_gner", "sequence"):
        strict = anyner.evaluate(anyner.load(tmp_path / name.replace("set_gner", "set")), documents).strict
        assert found["models"][name]["f1"] == pytest.approx(strict.f1)
        assert strict.f1 > 0.2, "both learn"
        groups = {group for group, size in found["sentences_of"].items() if size}
        assert set(found["models"][name]["sentences_per_second_of"]) == groups
    assert found["sentences_of"]["short"] == sum(len(document.text.split()) <= 20 for document in documents)
    assert [row["beam"] for row in found["beams"]] == [1, 3]
    script("papers.set_gner", "sentence", tmp_path / "set", documents[0].text, "-o", tmp_path / "growth.json")
    grown = result(tmp_path / "growth.json")
    predicted = anyner.load(tmp_path / "set").predict(documents[0].text)
    assert len(grown["entities"]) == len(predicted.entities)
