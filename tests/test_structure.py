"""The house rules that no linter checks."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

SOURCE = Path(__file__).parent.parent / "src" / "anyner"
FILES = sorted(SOURCE.rglob("*.py"))
ARCHITECTURES = sorted(path.parent for path in (SOURCE / "architectures").glob("*/head.py"))


def named(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("path", FILES, ids=named)
def test_a_file_does_one_thing(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 600
    assert path.stem not in {"utils", "helpers", "common", "misc"}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 80, f"{node.name} is too long"


@pytest.mark.parametrize("folder", ARCHITECTURES, ids=named)
def test_an_architecture_is_one_folder_that_knows_no_other(folder: Path) -> None:
    assert {"config.py", "head.py", "decode.py", "README.md"} <= {path.name for path in folder.iterdir()}
    others = {other.name for other in ARCHITECTURES} - {folder.name}
    for path in folder.glob("*.py"):
        used = set(re.findall(r"anyner\.architectures\.(\w+)", path.read_text(encoding="utf-8")))
        assert not used & others


@pytest.mark.parametrize("folder", ARCHITECTURES, ids=named)
def test_decoding_and_settings_need_no_torch(folder: Path) -> None:
    for name in ("config.py", "decode.py"):
        assert "torch" not in (folder / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [p for p in FILES if "architectures" not in p.parts], ids=named)
def test_nothing_outside_knows_an_architecture_by_name(path: Path) -> None:
    """But for the recipe's default."""
    found = [name for name in (folder.name for folder in ARCHITECTURES) if name in path.read_text(encoding="utf-8")]
    assert not found or named(path) in {"training/config.py", "cli/train.py"}


@pytest.mark.parametrize(("name", "with_holes"), [("torch", "2.9.1"), ("transformers", "5.4"), ("jinja2", "3.1.5")])
def test_versions_with_published_holes_are_left_out(name: str, with_holes: str) -> None:
    project = tomllib.loads((SOURCE.parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bound = next(one for one in map(Requirement, project["dependencies"]) if one.name == name)
    assert not bound.specifier.contains(with_holes)
