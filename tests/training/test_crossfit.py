"""Every training document is read once, by a model that did not learn from it, and another training learns from what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anyner.corpora.reading import read
from anyner.corpora.synthetic import synthetic_splits
from anyner.errors import AnynerError
from anyner.training import folds as module
from anyner.training.config import Recipe
from anyner.training.crossfit import crossfit
from anyner.training.data import Splits, read_data
from anyner.training.loop import Interrupted
from anyner.training.progress import Silent
from anyner.training.run import run

RECIPE = Recipe.of(
    {
        "data": {"synthetic": {"train": 24, "dev": 6, "test": 1, "contiguous": True}, "coordinated": 0.25},
        "encoder": {"fresh_width": 32, "fresh_layers": 1, "fresh_vocabulary": 400},
        "training": {"epochs": 2, "head_lr": 0.01, "encoder_lr": 0.01},
    },
    "recipe",
)


def test_each_model_reads_what_it_did_not_learn_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Splits] = []

    def spied(recipe: Recipe, folder: Path, resume: bool, listener: object, data: Splits) -> object:
        seen.append(data)
        assert recipe.training.seed == len(seen) - 1
        return run(recipe, folder, resume, None, data)

    monkeypatch.setattr(module, "run", spied)
    result = crossfit(RECIPE, tmp_path / "out", folds=3)
    documents = synthetic_splits((24, 6, 1), 0, True).train.documents
    assert len(seen) == 3
    for data in seen:
        learned = {one.text for one in data.train}
        assert len(data.dev) == 8 and not learned & {one.text for one in data.dev}
        assert len(data.train) == 16 + data.made and data.made > 0
    said = read(str(result.path)).documents
    assert sorted(one.text for one in said) == sorted(one.text for one in documents)
    assert result.documents == 24 and result.entities == sum(len(one.entities) for one in said) > 0
    assert all(entity.score is not None for one in said for entity in one.entities)
    assert [path.name for path in result.path.parent.iterdir()] == ["opinions.jsonl"]
    with pytest.raises(AnynerError, match=r"already holds opinions\.jsonl"):
        crossfit(RECIPE, tmp_path / "out", folds=3)
    heard = RECIPE.model_copy(update={"data": RECIPE.data.updated({"opinions": str(result.path)}, "data")})
    opinions = read_data(heard.data, heard.text).opinions
    assert sum(opinion is not None for opinion in opinions) == 24


def test_what_was_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = crossfit(RECIPE, tmp_path / "whole", folds=2)
    trained: list[str] = []

    def stops_once(recipe: Recipe, folder: Path, resume: bool, listener: object, data: Splits) -> object:
        if trained == ["fold-1-of-2"]:
            trained.append("stopped")
            raise Interrupted
        trained.append(folder.name)
        return run(recipe, folder, resume, None, data)

    monkeypatch.setattr(module, "run", stops_once)
    with pytest.raises(Interrupted):
        crossfit(RECIPE, tmp_path / "parts", folds=2)
    with pytest.raises(AnynerError, match="holds the models of another recipe"):
        crossfit(Recipe.of({**RECIPE.model_dump(), "architecture": "locate_label"}, "recipe"), tmp_path / "parts", folds=2)
    parts = crossfit(RECIPE, tmp_path / "parts", folds=2)
    assert trained == ["fold-1-of-2", "stopped", "fold-2-of-2"]
    assert parts.path.read_text(encoding="utf-8") == whole.path.read_text(encoding="utf-8")
    assert parts.score == whole.score


def test_problems_of_the_files_are_told(tmp_path: Path) -> None:
    class Heard(Silent):
        def __init__(self) -> None:
            self.lines: list[str] = []

        def note(self, line: str) -> None:
            self.lines.append(line)

    lines = [{"text": f"Anna {n} sleeps", "entities": [{"label": "A", "start": 0, "end": 4}]} for n in range(8)]
    lines[3]["entities"] = [{"label": "A", "start": 0, "end": 99}]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    data = {"train": str(tmp_path / "train.jsonl"), "dev": str(tmp_path / "train.jsonl")}
    heard = Heard()
    crossfit(Recipe.of({"data": data, "training": {"epochs": 1}}, "recipe"), tmp_path / "out", 2, heard)
    assert any("problems in the files (2 dropped)" in line for line in heard.lines), heard.lines


def test_gold_is_not_in_the_file(tmp_path: Path) -> None:
    """A model that finds nothing says nothing: the opinions are not the annotation in other clothes."""
    blind = RECIPE.model_copy(update={"training": RECIPE.training.updated({"head_lr": 1e-9, "encoder_lr": 1e-9}, "training")})
    result = crossfit(blind, tmp_path / "out", folds=2)
    lines = [json.loads(line) for line in result.path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 24
    assert all(line["entities"] == [] for line in lines)
