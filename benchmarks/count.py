"""Counts what a reader of this repository has to take in: settings, lines of code, small files, and the files to read first.

python benchmarks/count.py            this repository
python benchmarks/count.py FOLDER     a checkout elsewhere

Lines of code are those of src without blank lines, comments and docstrings. An architecture has its own folder and the modules
of layers/ and architectures/ that no other architecture imports, directly or through others. Small files have fewer than 45
lines, `__init__.py` aside.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

ROOT = Path(__file__).resolve().parent.parent
SMALL_FILE = 45
FIRST_READING = (
    "README.md",
    "src/anyner/document.py",
    "src/anyner/architectures/base.py",
    "src/anyner/architectures/biaffine/head.py",
    "src/anyner/layers/span_classifier.py",
    "src/anyner/encoding/gold.py",
    "src/anyner/training/loop.py",
)
"""What someone reads in the first ten minutes."""
BY_ARCHITECTURE = ("head", "options")
"""Recipe keys whose content is up to the architecture."""
NOT_CODE = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


def code_lines(source: str) -> int:
    """Lines that hold code. A docstring is any string that is a statement of its own, including one below a field."""
    docstrings = {
        (node.lineno, node.col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }
    lines: set[int] = set()
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type not in NOT_CODE and token.start not in docstrings:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines)


def leaf_keys(settings: Any, prefix: str = "") -> Iterator[str]:
    """The dotted keys of a group of settings; nested groups, optional ones too, are replaced by their own keys.

    Values that training records and a recipe cannot set are not counted.
    """
    for name, field in settings.model_fields.items():
        if "recorded" in (field.json_schema_extra or {}):
            continue
        groups = list(_groups_in(field.annotation))
        if not groups:
            yield prefix + name
        for group in groups:
            yield from leaf_keys(group, f"{prefix}{name}.")


def _groups_in(annotation: Any) -> Iterator[Any]:
    """Groups of settings that a key can hold directly; a list of them counts as one key."""
    if get_origin(annotation) in (Union, UnionType):
        for part in get_args(annotation):
            yield from _groups_in(part)
    elif hasattr(annotation, "model_fields"):
        yield annotation


def settings_counts() -> dict[str, int]:
    """Keys of a recipe, and those of each architecture: of its head and of its call options."""
    from anyner.architectures.registry import config_class, head_class, names
    from anyner.training.config import Recipe

    recipe = [key for key in leaf_keys(Recipe) if key not in BY_ARCHITECTURE]
    counts = {"recipe": len(recipe)}
    for name in names():
        head = [key for key in leaf_keys(config_class(name)) if key != "architecture"]
        counts |= {f"{name}, head": len(head), f"{name}, options": len(list(leaf_keys(head_class(name).CallOptions)))}
    return counts


def imports(source: str, modules: Mapping[str, Path]) -> set[str]:
    """Those of `modules` that a file imports, at the top or in a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found & modules.keys()


def architecture_modules(source: Path) -> dict[str, set[str]]:
    """For each architecture its own modules, and those of layers/ and architectures/ that no other architecture reaches."""
    modules = {_module_name(path, source): path for path in sorted(source.rglob("*.py"))}
    imported = {name: imports(path.read_text(encoding="utf-8"), modules) for name, path in modules.items()}
    folders = {path.parent.name for path in source.glob("anyner/architectures/*/head.py")}
    own = {
        folder: {name for name in modules if f"{name}.".startswith(f"anyner.architectures.{folder}.")}
        for folder in sorted(folders)
    }
    in_folders = set().union(*own.values())
    shared = {name for name in modules if name.startswith(("anyner.layers.", "anyner.architectures."))} - in_folders
    reached = {folder: _reached(names, imported, shared) for folder, names in own.items()}
    outside = _reached(modules.keys() - shared - in_folders, imported, shared)
    return {
        folder: names | reached[folder].difference(outside, *(found for other, found in reached.items() if other != folder))
        for folder, names in own.items()
    }


def _reached(start: set[str], imported: Mapping[str, set[str]], within: set[str]) -> set[str]:
    """The modules of `within` that those of `start` import, directly or through each other."""
    found: set[str] = set()
    waiting = set(start)
    while waiting:
        new = {name for module in waiting for name in imported[module] & within} - found
        found |= new
        waiting = new
    return found


def _module_name(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def line_count(path: Path) -> int | None:
    return path.read_bytes().count(b"\n") if path.is_file() else None


def rows_of(root: Path) -> Iterator[tuple[str, str]]:
    """Names and counts in the order of the table; `missing` for a file that does not exist."""
    source = root / "src"
    settings = settings_counts()
    yield "settings, all", f"{sum(settings.values()):,}"
    yield from ((f"settings, {name}", f"{count:,}") for name, count in settings.items())
    files = sorted(source.rglob("*.py"))
    code = {_module_name(path, source): code_lines(path.read_text(encoding="utf-8")) for path in files}
    yield "lines of code, src", f"{sum(code.values()):,}"
    for name, modules in architecture_modules(source).items():
        yield f"lines of code, {name}", f"{sum(code[module] for module in modules):,}"
    small = [path for path in files if path.name != "__init__.py" and (line_count(path) or 0) < SMALL_FILE]
    yield f"files under {SMALL_FILE} lines", f"{len(small):,}"
    lines = {name: line_count(root / name) for name in FIRST_READING}
    yield "lines, README.md", _shown(lines["README.md"])
    yield "lines, ten-minute path", f"{sum(count or 0 for count in lines.values()):,}"
    yield from ((f"  {name}", _shown(count)) for name, count in lines.items())


def _shown(count: int | None) -> str:
    return "missing" if count is None else f"{count:,}"


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="root of the repository; default: this one")
    root = parser.parse_args().root.resolve()
    if not (root / "src/anyner").is_dir():
        sys.exit(f"count.py: {root}: has no src/anyner")
    sys.path.insert(0, str(root / "src"))  # settings are those of that checkout, not of the installed package
    rows = list(rows_of(root))
    width = max(len(name) for name, _ in rows)
    for name, count in rows:
        print(f"{name:<{width}}  {count:>7}")


if __name__ == "__main__":
    main()
