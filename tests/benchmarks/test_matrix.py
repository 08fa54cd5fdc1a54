"""Every cell of the matrix is trained by the same rules and records them."""

from __future__ import annotations

import json
import random
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from run_scripts import SCRIPTS, told_at_the_end

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.errors import AnynerError
from anyner.training import quality
from anyner.training.auto import Rules, open_keys


@pytest.fixture
def matrix(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return import_module("matrix")


def test_nothing_is_set_but_what_a_cell_names(matrix: ModuleType) -> None:
    cells = matrix.cells()
    assert len({cell.name for cell in cells}) == len(cells) == 3 * (5 * (8 + 16) + 4 * 3 + 3 * 2 + 3 + 3)
    for cell in cells:
        assert matrix.Cell.named(cell.name) == cell
        recipe = cell.recipe.plain()
        assert recipe["training"] == {"seed": cell.seed} and recipe["encoder"] == {"source": cell.encoder}
        assert recipe.get("head", {}) == matrix.PRESETS[cell.preset]
        assert set(recipe) - {"head"} == {"data", "encoder", "architecture", "training"}
        assert {"training.epochs", "training.encoder_lr", "data.augmentation"} <= set(open_keys(cell.recipe))


def test_patterns_choose_cells_and_their_order(matrix: ModuleType) -> None:
    last, first = "set_gner-cadec-minilm-standard-seed?", "biaffine-genia-*-standard-seed0"
    assert matrix.matching([]) == matrix.cells()
    assert [cell.name for cell in matrix.matching([last, first, "set_gner-cadec-minilm-standard-seed1"])] == [
        *(f"set_gner-cadec-minilm-standard-seed{seed}" for seed in range(3)),
        "biaffine-genia-minilm-standard-seed0",
        "biaffine-genia-mpnet-standard-seed0",
    ]
    with pytest.raises(AnynerError, match="no training matches 'set-gner"):
        matrix.matching(["set-gner-*"])


@pytest.mark.parametrize("part", [".", "second-freeze"])
def test_compared_cells_are_of_one_frozen_commit_with_nothing_else_set(part: str, matrix: ModuleType) -> None:
    folder = matrix.RESULTS / part
    files = sorted(folder.glob("matrix-*.json"))
    results = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    commits: dict[tuple[object, ...], set[str]] = {}
    for result in results:
        compared = (result["cell"][name] for name in ("sentences", "encoder", "quality"))
        commits.setdefault(tuple(compared), set()).add(result["commit"])
    assert commits and all(len(own) == 1 for own in commits.values()), commits
    for file, result in zip(files, results, strict=True):
        cell = matrix.Cell(**result["cell"])
        assert file == matrix.results_file(cell, str(folder)) and cell in matrix.cells()
        assert f"matrix.py train {cell.name} " in result["command"] and "--set" not in result["command"]
        given, trained = cell.recipe.plain(), result["recipe"]
        if cell.quality == "best":  # its first stage makes an encoder
            given["encoder"] = {"source": "model/stages/encoder"}
        for group, settings in given.items():
            whole = trained[group] if isinstance(settings, dict) else {group: trained[group]}
            assert (settings if isinstance(settings, dict) else {group: settings}).items() <= whole.items(), file.name


@pytest.mark.parametrize("name", ["biaffine", "biaffine-genia-minilm-seed0", "magic-genia-minilm-standard-seed0"])
def test_an_unknown_training_is_named(matrix: ModuleType, name: str) -> None:
    with pytest.raises(AnynerError, match=f"there is no training {name}: write ARCHITECTURE-CORPUS-ENCODER-QUALITY-seedN"):
        matrix.Cell.named(name)


def test_a_cell_is_trained_and_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(quality, "FAST", Rules(epochs=1, least_steps=2))
    folder = Path("data/small")
    folder.mkdir(parents=True)
    name = "locate_label-small-from_scratch-fast-seed3"
    command = ("matrix.py", "train", name, "--commit", "abc", "-o", "out")
    for part, number in (("train", 12), ("dev", 4), ("test", 5)):
        if part == "test":
            assert told_at_the_end(*command) == "matrix.py: data/small: has no test documents"
            assert not told_at_the_end("matrix.py", "try", name, "few", "--set", "training.epochs=1", "-o", "out")
            tried = json.loads(Path(f"out/tried-{name}-few.json").read_text(encoding="utf-8"))
            assert tried["dev"]["documents"] == 4 and "test" not in tried and tried["recipe"]["training"]["epochs"] == 1
        anyner.write(synthetic(number, contiguous=True, split=part).documents, str(folder / f"{part}.jsonl"), "jsonl")
    assert not told_at_the_end(*command)
    told = json.loads(Path(f"out/matrix-{name}.json").read_text(encoding="utf-8"))
    assert told["commit"] == "abc" and told["cell"]["seed"] == 3 == told["recipe"]["training"]["seed"]
    assert told["test"]["documents"] == told["span_classifier_alone"]["documents"] == 5
    assert told["recipe"]["training"]["epochs"] == 2  # the completed recipe is recorded


def test_few_sentences_are_drawn_with_the_seed_and_shared(
    matrix: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data/small").mkdir(parents=True)
    for part in ("train", "dev", "test"):
        anyner.write(synthetic(30, split=part).documents, f"data/small/{part}.jsonl", "jsonl")
    lines = Path("data/small/train.jsonl").read_text(encoding="utf-8").splitlines()
    cell = matrix.Cell.named("biaffine-small_20-minilm-standard-seed1")
    matrix.draw(cell)
    drawn = Path("data/small_20_1/train.jsonl").read_text(encoding="utf-8").splitlines()
    assert drawn == random.Random(1).sample(lines, 20)  # as the other scripts draw them
    before = Path("data/small_20_1/train.jsonl").stat().st_mtime_ns
    matrix.draw(cell)
    assert Path("data/small_20_1/train.jsonl").stat().st_mtime_ns == before
    assert len(anyner.read("data/small_20_1/test.jsonl").documents) == 30
    with pytest.raises(AnynerError, match="has 30 training documents, fewer than 40"):
        matrix.draw(matrix.Cell.named("biaffine-small_40-minilm-standard-seed1"))
