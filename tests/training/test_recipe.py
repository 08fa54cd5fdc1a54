from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from anyner.errors import AnynerError
from anyner.training.config import Recipe, Source, changed

SMALL = {"data": {"synthetic": {"sentences": 5}}}


def message_of(plain: object) -> str:
    with pytest.raises(AnynerError) as caught:
        Recipe.of(plain, "my.yaml")  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith("my.yaml: ")
    return text


@pytest.mark.parametrize(
    ("plain", "named"),
    [
        ({**SMALL, "trainning": {}}, "unknown key 'trainning'"),
        ({**SMALL, "training": {"epoch": 3}}, "unknown key 'training.epoch'"),
        ({**SMALL, "training": {"epochs": "many"}}, "'training.epochs'"),
        ({**SMALL, "training": {"epochs": 0}}, "'training.epochs'"),
        ({**SMALL, "training": {"word_dropout": 1.0}}, "'training.word_dropout'"),
        ({**SMALL, "encoder": {"pooling": "median"}}, "'encoder.pooling'"),
        ({**SMALL, "overlap": "most"}, "'overlap"),
        ({**SMALL, "text": {"window": 3}}, "'text.window'"),
        ({"data": {"train": "a.jsonl", "folder": "b"}}, "exactly one of folder, train (with dev) and synthetic"),
        ({"data": {}}, "exactly one of folder"),
        ({"data": {"train": [{"file": "a"}], "dev": "b"}}, "data.train.0"),
        ({}, "'data'"),
    ],
)
def test_an_error_names_the_key(plain: dict[str, object], named: str) -> None:
    assert named in message_of(plain)


def test_sources_may_be_a_path_a_list_or_a_mapping() -> None:
    one = Recipe.of({"data": {"train": "a", "dev": ["b", {"path": "c", "labels": ["X"]}]}}, "here")
    assert one.data.train == (Source(path="a"),)
    assert one.data.dev == (Source(path="b"), Source(path="c", labels=("X",)))


@pytest.mark.parametrize(
    ("change", "path", "value"),
    [
        ("training.encoder_lr=1e-4", ("training", "encoder_lr"), 1e-4),
        ("training.encoder_lr=5E-5", ("training", "encoder_lr"), 5e-5),
        ("training.epochs=7", ("training", "epochs"), 7),
        ("data.dev=[a.jsonl, b.jsonl]", ("data", "dev"), ["a.jsonl", "b.jsonl"]),
        ("data.dev={path: x, labels: [A]}", ("data", "dev"), {"path": "x", "labels": ["A"]}),
        ("encoder.source=some=where", ("encoder", "source"), "some=where"),
        ("encoder.source=models/the-e", ("encoder", "source"), "models/the-e"),
        ("data.synthetic.contiguous=true", ("data", "synthetic", "contiguous"), True),
    ],
)
def test_set_reads_values_as_yaml(change: str, path: tuple[str, ...], value: object) -> None:
    found: object = changed(SMALL, [change])
    for key in path:
        assert isinstance(found, dict)
        found = found[key]
    assert found == value
    assert type(found) is type(value)


def test_set_leaves_the_other_keys_and_the_original_alone() -> None:
    plain = {"training": {"epochs": 3, "seed": 1}, "data": {"folder": "x"}}
    assert changed(plain, ["training.seed=2", "training.seed=4"])["training"] == {"epochs": 3, "seed": 4}
    assert plain["training"] == {"epochs": 3, "seed": 1}


def test_set_null_removes_a_key() -> None:
    assert changed({"training": {"patience": 3, "seed": 1}}, ["training.patience=null"]) == {"training": {"seed": 1}}
    assert changed(SMALL, ["data.synthetic=null", "data.folder=here"]) == {"data": {"folder": "here"}}


@pytest.mark.parametrize("change", ["training.epochs", "=3", " =3", "training.epochs=[1", "a={"])
def test_a_malformed_set_is_one_line_that_shows_it(change: str) -> None:
    with pytest.raises(AnynerError) as caught:
        changed(SMALL, [change])
    assert repr(change) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_read_applies_changes(tmp_path: Path) -> None:
    file = tmp_path / "r.yaml"
    file.write_text("data: {synthetic: {sentences: 5}}\ntraining: {encoder_lr: 1e-4}\n", encoding="utf-8")
    recipe = Recipe.read(file, ["training.epochs=3"])
    assert (recipe.training.epochs, recipe.training.encoder_lr) == (3, 1e-4)


@pytest.mark.parametrize("content", [b"data: [", b"a: b: c", b"\xff\xfe\x00x", b"- 1\n- 2\n", b"", b"just words", b"a: \x00"])
def test_a_broken_file_is_one_line_that_names_it(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "broken.yaml"
    file.write_bytes(content)
    with pytest.raises(AnynerError) as caught:
        Recipe.read(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(AnynerError, match=r"none\.yaml: no such recipe"):
        Recipe.read(tmp_path / "none.yaml")


def test_yaml_that_is_written_is_read_as_the_same_recipe() -> None:
    plain = {"data": {"train": "ä.jsonl", "dev": [{"path": "b", "labels": ["X", "Y"]}]}, "training": {"patience": 2}}
    recipe = Recipe.of(plain, "here")
    assert Recipe.of(yaml.safe_load(recipe.to_yaml()), "there") == recipe
    assert "epochs" not in recipe.to_yaml()


@pytest.mark.parametrize("line", ["data: {folder: {{DATA}}}", "training: {epochs: 2001-99-99}", "? [a]\n: 1"])
def test_invalid_yaml_values_are_reported_in_one_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "recipe.yaml"
    file.write_text(line + "\n")
    with pytest.raises(AnynerError, match="not valid YAML") as caught:
        Recipe.read(file)
    assert str(caught.value).startswith(str(file)) and "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["2001-99-99", "{{x}}", "[", "{[a]: 1}"])
def test_an_invalid_value_is_reported_with_its_change(value: str) -> None:
    with pytest.raises(AnynerError, match=f"^--set 'training.epochs={re.escape(value)}': the value is not valid YAML$"):
        changed({}, [f"training.epochs={value}"])


def test_a_duplicate_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("data: {folder: a}\ntraining: {epochs: 1, epochs: 2}\n", encoding="utf-8")
    with pytest.raises(AnynerError, match="duplicate key 'epochs'"):
        Recipe.read(path)


def test_an_unknown_policy_is_reported_with_the_known_ones() -> None:
    with pytest.raises(AnynerError, match=r"'overlap': .*'auto', 'all', 'nested'.* or 'flat_spans', got 'foo'"):
        Recipe.of({"data": {"synthetic": {}}, "overlap": "foo"}, "recipe")
