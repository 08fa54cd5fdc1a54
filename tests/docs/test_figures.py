"""No figure without a file: tables and marked numbers are what benchmarks/results says."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from markdown_pages import ROOT, name_of, pages, read, without_code

from anyner import Document, Entity
from anyner.architectures.registry import config_class
from anyner.architectures.settings import with_preset
from anyner.errors import AnynerError
from anyner.evaluation.evaluate import evaluate_documents
from anyner.training.auto import open_keys
from anyner.training.config import Recipe

_FIGURE = re.compile(r"(\S*)\s*<!-- figure: (\S+) (\S+)( x100)? -->")
_TABLE = re.compile(r"<!-- table: [^>]+ -->.*?<!-- end -->", re.DOTALL)
_CLAIM = re.compile(r"\bF1\b[^.\n|]*?\b\d+\.\d+|\b\d+\.\d+\s*(?:%\s*)?F1\b|\b[\d,.]+\s+(?:sentences|documents) (?:a|per) second")
OLD_DEFAULTS = {
    "architecture": "biaffine", "encoder.source": "from_scratch", "encoder.pooling": "first", "encoder.lstm_layers": 0,
    "data.held_out": 0.0, "data.augmentation": 0.0, "training.epochs": 20, "training.batch_sentences": 32,
    "training.batch_tokens": 8192, "training.encoder_lr": 5e-5, "training.head_lr": 1e-3, "training.word_dropout": 0.0,
    "training.average_epochs": 0.0, "training.seed": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def tables() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield import_module("tables")


def wrong_figures(text: str, folder: Path) -> list[str]:
    """Marked numbers that differ from their file, at as many decimals as are shown."""
    wrong = []
    for written, file, key, percent in _FIGURE.findall(text):
        number = written.strip("*_,;()").replace(",", "")
        path = folder / file
        if not path.is_file():
            wrong.append(f"{file}: no such file")
            continue
        value: Any = json.loads(path.read_text(encoding="utf-8"))
        for part in key.split("."):
            value = value[int(part)] if isinstance(value, list) else value[part]
        decimals = len(number.partition(".")[2])
        if number != f"{value * (100 if percent else 1):.{decimals}f}":
            wrong.append(f"{number} is {value} in {file}")
    return wrong


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_marked_figures_are_those_of_their_files(page: Path) -> None:
    assert wrong_figures(without_code(read(page)), ROOT / "benchmarks/results") == []


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_no_score_or_speed_is_claimed_without_a_mark(page: Path) -> None:
    if page.name == "metrics.md":
        pytest.skip("works examples out by hand")
    unmarked = _TABLE.sub("", _FIGURE.sub("", without_code(read(page))))
    assert _CLAIM.search(unmarked) is None, _CLAIM.search(unmarked)


def test_wrong_and_missing_figures_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"test": {"f1": 0.7891}, "rates": [1234.5]}), encoding="utf-8")
    right = "**78.9** <!-- figure: run.json test.f1 x100 --> and 1,234<!-- figure: run.json rates.0 -->"
    assert wrong_figures(right, tmp_path) == []
    assert len(wrong_figures(right.replace("78.9", "79.0").replace("1,234", "1,235"), tmp_path)) == 2
    assert wrong_figures("1 <!-- figure: none.json x -->", tmp_path) == ["none.json: no such file"]
    assert _CLAIM.search("reaches an F1 of 78.91") and _CLAIM.search("78.9 % F1") and _CLAIM.search("8,000 sentences per second")


def test_tables_are_those_of_the_results(tables: ModuleType) -> None:
    results = tables.read_results(ROOT / "benchmarks/results")
    marked = {name_of(page) for page in pages() if re.search(r"^<!-- table: ", read(page), re.MULTILINE)}
    assert marked <= set(tables.PAGES), "tables of other pages would stay empty"
    for name in marked:
        page = read(ROOT / name)
        assert tables.filled(page, results) == page, f"{name} is stale: run python benchmarks/tables.py"
        assert not re.search(r"<!-- table: [^>]*-->\n<!-- end -->", page)


def test_figures_on_test_belong_to_the_recipe_as_it_is_now(tables: ModuleType) -> None:
    """A recipe that was changed needs a new run: its old figure would be that of another recipe.

    Results of versions with other keys are left out; docs/choose.md says what they are.
    """
    for name, result in tables.read_results(ROOT / "benchmarks/results"):
        if "recipe" in result and result["what"] != "matrix" and ("test" in result or name.startswith("preset-")):
            command = shlex.split(result["command"])
            changes = [value for option, value in pairwise(command) if option == "--set"]
            try:
                before = Recipe.of(result["recipe"], name)
                config = config_class(before.architecture)
                config.of(with_preset(config, before.head, before.options)[0], name)
                recipe = Recipe.read(ROOT / next(part for part in command if part.startswith("recipes/")), changes)
            except AnynerError:
                continue
            chosen = set(open_keys(recipe))
            assert _compared(recipe.plain(), chosen) == _compared(result["recipe"], chosen), name


def _compared(plain: Mapping[str, Any], chosen: Collection[str]) -> dict[str, Any]:
    """Without what was chosen from the corpus; results of before there was such a choice leave out the defaults of that time."""
    kept: dict[str, Any] = {}
    for group, settings in plain.items():
        kept[group] = settings
        if isinstance(settings, dict):
            kept[group] = {
                key: value
                for key, value in settings.items()
                if f"{group}.{key}" not in chosen and value != OLD_DEFAULTS.get(f"{group}.{key}")
            }
    return {group: settings for group, settings in kept.items() if settings not in ({}, OLD_DEFAULTS.get(group))}


def test_a_table_shows_its_results_and_a_changed_number_changes_it(tables: ModuleType, tmp_path: Path) -> None:
    document = Document("Kofi Annan", (Entity("PER", ((0, 10),)),))
    dev_only = {
        "what": "accuracy",
        "machine": {"device": "a test"},
        "recipe": {"data": {"folder": "data/genia"}, "encoder": {"source": "models/minilm"}},
        "seed": 3,
        "training_seconds": 61.2,
        "best_epoch": 7,
        "dev_f1": 0.5,
    }
    named = {"architecture": "biaffine", "preset": "default", "corpus": "genia", "encoder": "minilm", "quality": "standard"}
    cell = {**named, "sentences": None, "seed": 3}
    test = evaluate_documents([document], [document]).to_json()
    result = {**dev_only, "what": "matrix", "commit": "abc", "cell": cell, "test": test}
    (tmp_path / "run.json").write_text(json.dumps(result), encoding="utf-8")
    empty = "<!-- table: trainings -->\nold\n<!-- end -->\n"
    page = tables.filled(empty, tables.read_results(tmp_path))
    ending = "61 | abc | a test | `run.json` |"
    row = f"| genia | biaffine | default | minilm | 3 | standard | all | 50.00 | 100.00 | 100.0 to 100.0 | 7 | {ending}"
    assert row in page.splitlines()
    assert tables.filled(page, tables.read_results(tmp_path)) == page
    (tmp_path / "run.json").write_text(json.dumps(result | {"dev_f1": 0.51}), encoding="utf-8")
    assert tables.filled(page, tables.read_results(tmp_path)) != page
    (tmp_path / "run.json").write_text(json.dumps(dev_only), encoding="utf-8")
    assert "No results yet." in tables.filled(page, tables.read_results(tmp_path))
    assert "No results yet." in tables.filled(page, [])


def test_a_table_can_be_of_some_rows_only(tables: ModuleType) -> None:
    row = {"window": 512, "f1": 0.5, "entities": 7, "only_here": 0, "only_with_the_largest": 0}
    one = {"what": "windows", "model": "one-en", "corpus": "news", "documents": [row], "one_text": []}
    results = [("one.json", one), ("other.json", one | {"model": "other-en"})]
    page = tables.filled("<!-- table: windows model=one-en -->\n<!-- end -->", results)
    assert "| corpus | read | window, pieces | F1 | entities | only here | only with 512 | file |" in page.splitlines()
    assert "| news | each document | 512 | 50.0 | 7 | 0 | 0 | `one.json` |" in page.splitlines()
    assert "other.json" not in page
    assert "other.json" in tables.filled("<!-- table: windows file=other.json -->\n<!-- end -->", results)


def test_a_bundled_model_has_a_row_for_each_corpus(tables: ModuleType) -> None:
    read = {"precision": 0.9, "recall": 0.9, "f1": 0.891, "crossing": 3, "cut_names": 2}
    whole = {"blank": read, "line break": read | {"crossing": 0}}
    scores = {"documents": 3453, "precision": 0.9, "recall": 0.9, "f1": 0.9, "lower": 0.8, "upper": 0.7, "float32": 0.9011}
    result = {
        "what": "bundled",
        "name": "some-en",
        "bytes": 27_040_000,
        "corpora": [
            scores | {"corpus": "news", "discontinuous_f1": None, "whole": whole},
            scores | {"corpus": "genes", "discontinuous_f1": 0.41},
        ],
    }
    page = tables.filled("<!-- table: bundled -->\n<!-- end -->", [("bundled-some-en.json", result)]).splitlines()
    assert page[1].startswith("| model | corpus | documents | F1 | discontinuous F1 | F1 in lower case |")
    assert page[3].startswith("| `some-en` | news | 3,453 | 90.0 |  | 80.0 | 70.0 | 89.1 | 89.1 | 3 (2 cut names) | 0 | 27.0 |")
    assert "| 90.0 | 41.0 |" in page[4]
    assert "No results yet." in tables.filled("<!-- table: bundled -->\n<!-- end -->", [])
    unscored = [("bundled-some-en.json", result | {"corpora": []})]
    assert "No results yet." in tables.filled("<!-- table: bundled -->\n<!-- end -->", unscored)
    drawn = result | {"texts": [{"name": "a note", "drawn": "Pain"}]}
    filled = tables.filled("<!-- texts: some-en -->\n<!-- end -->", [("bundled-some-en.json", drawn)])
    assert filled == "<!-- texts: some-en -->\nA note:\n\n```text\nPain\n```\n<!-- end -->"
