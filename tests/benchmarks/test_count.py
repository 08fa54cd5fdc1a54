"""Settings, lines of code and small files are counted as the script says."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from pydantic import BaseModel
from run_scripts import SCRIPTS

SOURCE = '''"""A docstring
of two lines."""

import os  # a comment is no line of its own

# nothing but a comment


class Thing:
    """What it is."""

    field: int = 3
    """A docstring below a field."""
    text = """two
lines"""

    def answer(self) -> int: return (
        42
    )
'''


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return import_module("count")


class Inner(BaseModel):
    first: int = 0
    second: str | None = None


class Outer(BaseModel):
    plain: float = 0.0
    group: Inner = Inner()
    perhaps: Inner | None = None
    several: tuple[Inner, ...] = ()


def test_blank_lines_comments_and_docstrings_are_no_code(count: ModuleType) -> None:
    assert count.code_lines(SOURCE) == 8
    assert count.code_lines("") == 0


def test_groups_are_counted_by_their_keys(count: ModuleType) -> None:
    keys = ["plain", "group.first", "group.second", "perhaps.first", "perhaps.second", "several"]
    assert list(count.leaf_keys(Outer)) == keys


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_an_architecture_has_the_layers_that_no_other_imports(count: ModuleType, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "anyner/__init__.py": "",
            "anyner/model.py": "from anyner.layers import used_outside\n",
            "anyner/layers/own.py": "from anyner.layers.deeper import x\nfrom anyner.layers.common import y\n",
            "anyner/layers/deeper.py": "x = 1\n",
            "anyner/layers/common.py": "y = 1\n",
            "anyner/layers/used_outside.py": "",
            "anyner/architectures/pair.py": "import anyner.layers.used_outside\n",
            "anyner/architectures/one/head.py": "from anyner.architectures.pair import a\nfrom anyner.layers.own import x\n",
            "anyner/architectures/two/head.py": "from anyner.layers.common import y\n",
        },
    )
    assert count.architecture_modules(tmp_path) == {
        "one": {"anyner.architectures.one.head", "anyner.architectures.pair", "anyner.layers.own", "anyner.layers.deeper"},
        "two": {"anyner.architectures.two.head"},
    }


@pytest.mark.slow
def test_this_repository_is_counted(
    count: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["count.py"])
    count.main()
    rows = {name.strip(): number for name, number in (line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines())}
    numbers = {name: int(number.replace(",", "")) for name, number in rows.items() if number != "missing"}
    settings = [number for name, number in numbers.items() if name.startswith("settings, ") and name != "settings, all"]
    assert numbers["settings, all"] == sum(settings) > 100
    assert numbers["lines of code, src"] > numbers["lines of code, set_gner"] > numbers["lines of code, biaffine"] > 50
    assert numbers["lines, README.md"] == numbers["README.md"] <= numbers["lines, ten-minute path"]
    assert numbers["lines, ten-minute path"] == sum(numbers.get(name, 0) for name in count.FIRST_READING)


def test_a_folder_without_the_package_is_refused(count: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.argv", ["count.py", str(tmp_path)])
    with pytest.raises(SystemExit, match="has no src/anyner"):
        count.main()
    assert count.line_count(tmp_path / "missing.py") is None
