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


def test_files_and_functions_are_short() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= 600, named(path)
        assert path.stem not in {"utils", "helpers", "common", "misc"}, named(path)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 80, f"{named(path)}: {node.name} is too long"


def test_an_architecture_is_one_folder_that_imports_no_other() -> None:
    for folder in ARCHITECTURES:
        assert {"config.py", "head.py", "README.md"} <= {path.name for path in folder.iterdir()}, folder.name
        assert (folder / "decode.py").is_file() or "decode_spans" in (folder / "head.py").read_text(encoding="utf-8"), folder.name
        others = {other.name for other in ARCHITECTURES} - {folder.name}
        for path in folder.glob("*.py"):
            used = set(re.findall(r"anyner\.architectures\.(\w+)", path.read_text(encoding="utf-8")))
            assert not used & others, named(path)


def test_nothing_outside_knows_an_architecture_by_name() -> None:
    """Except in the recipe's default and in the names that weights of the bundled models were stored with."""
    quoted = re.compile(rf"[\"'`.](?:{'|'.join(folder.name for folder in ARCHITECTURES)})\b")
    for path in (path for path in FILES if "architectures" not in path.parts):
        found = quoted.search(path.read_text(encoding="utf-8"))
        assert not found or named(path) in {"training/config.py", "training/auto.py", "cli/train.py", "storage/format.py"}, named(
            path
        )


@pytest.mark.parametrize(("name", "with_holes"), [("torch", "2.9.1"), ("transformers", "5.4"), ("jinja2", "3.1.5")])
def test_versions_with_published_holes_are_left_out(name: str, with_holes: str) -> None:
    project = tomllib.loads((SOURCE.parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    every = [*project["dependencies"], *project["optional-dependencies"]["train"]]
    bound = next(one for one in map(Requirement, every) if one.name == name)
    assert not bound.specifier.contains(with_holes)
