"""Builds the documentation site: `make docs` leaves it in `site/`, to be opened from the disk or served.

The pages keep the folders that they have in the repository, so that their links hold on a code host and on the site alike. What
they link to outside of the pages (sources, recipes) becomes a page that shows the file; the reference is made from docstrings.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import griffe

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")
REFERENCE = "reference.md"
_IMPORT = re.compile(r"^(?:>>> )?from (anyner[\w.]*) import ([\w, ]+)$", re.MULTILINE)


def listed(navigation: Iterable[str | dict[str, object]]) -> Iterator[str]:
    """The pages of a navigation, sections and all."""
    for entry in navigation:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from listed([below] if isinstance(below, str) else below)


def build(folder: Path, site: Path) -> int:
    """Gathers the pages in a folder and builds the site from it. The exit status: any warning is an error."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs/figures", folder / "pages/docs/figures")
    for asset in ("iframe-worker.js", "wide.css"):
        shutil.copy(HERE / asset, folder / "pages")
    config = shutil.copy(HERE / "zensical.toml", folder)
    navigation = tomllib.loads((HERE / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    pages = [page for page in listed(navigation) if page != REFERENCE]
    for file in sorted({file for page in pages for file in _copied(page, folder / "pages")}):
        text = (ROOT / file).read_text(encoding="utf-8")
        language = {".py": "python", ".yaml": "yaml"}.get(Path(file).suffix, "text")
        _write(folder / "pages" / f"{file}.md", f"# {file}\n\n````{language}\n{text.rstrip()}\n````\n")
    _write(folder / "pages" / REFERENCE, reference(pages))
    zensical = Path(sys.executable).with_name("zensical")
    status = subprocess.run([zensical, "build", "--clean", "--strict", "--config-file", config], check=False).returncode
    if status == 0:
        shutil.rmtree(site, ignore_errors=True)
        (folder / "site").rename(site)
    return status


def _copied(page: str, folder: Path) -> set[str]:
    """Copies a page; the files it links to that are no pages, which it now links as pages."""
    shown = set()

    def as_page(link: re.Match[str]) -> str:
        target = os.path.normpath(Path(page).parent / link[0])
        if link[0].startswith(("http:", "https:")) or Path(target).suffix in {".md", ".svg", ".png"}:
            return link[0]
        shown.add(target)
        return f"{link[0]}.md"

    _write(folder / page, LINK.sub(as_page, (ROOT / page).read_text(encoding="utf-8")))
    return shown


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def reference(pages: Iterable[str]) -> str:
    """Every public name, what the pages import beside them, and what public functions return."""
    package = griffe.load("anyner", search_paths=[str(ROOT / "src")])
    public = {f"anyner.{name}": _target(package, name) for name in package.exports or ()}
    returned = [thing.returns.canonical_path for thing in public.values() if thing.is_function]
    imported = [f"{module}.{name.strip()}" for page in pages for module, names in _imports(page) for name in names.split(",")]
    paths = {path for path in (*returned, *imported) if path.startswith("anyner.")}
    paths = {path for path in paths if "tagger" not in path}  # the architecture that a page builds as an example
    others = {path: _target(package, path.removeprefix("anyner.")) for path in sorted(paths)}
    others = {thing.path: thing for thing in others.values() if not thing.is_module and thing not in public.values()}
    lines = ["# Reference", "", "The public names, then what the other pages import or these functions return."]
    for path, thing in (public | others).items():
        module, _, name = path.rpartition(".")
        lines += ["", f"## `{path}`"] if path in public else ["", f"## `{name}`", "", f"In `{module}`."]
        lines += _described(thing, name)
        for name, member in thing.members.items() if thing.is_class else ():
            if member.is_public and member.is_function and not member.is_special:
                lines += ["", f"### `{thing.name}.{name}`", *_described(member, name)]
    return "\n".join([*lines, ""])


def _imports(page: str) -> list[tuple[str, str]]:
    return _IMPORT.findall((ROOT / page).read_text(encoding="utf-8"))


def _target(package: griffe.Module, path: str) -> griffe.Object:
    thing = package[path]
    return thing.final_target if thing.is_alias else thing


def _described(thing: griffe.Object, name: str) -> Iterator[str]:
    """Signature or value, docstring and, of a class, its fields and properties."""
    if thing.is_attribute:
        yield from ("", "```python", f"{name} = {thing.value}", "```")
    elif thing.is_function or (thing.is_class and thing.parameters):
        yield from ("", "```python", _wrapped(thing.signature(name=name)), "```")
    if thing.docstring:
        yield from ("", _with_fenced_examples(thing.docstring.value))
    members = thing.members.values() if thing.is_class else ()
    fields = [member for member in members if member.is_attribute and member.is_public and not member.is_special]
    fields = [field for field in fields if field.annotation or field.docstring]
    if fields:
        yield from ("", "| field | type | |", "| --- | --- | --- |")
    for field in fields:
        kind = str(field.annotation or "").replace("|", r"\|")
        said = field.docstring.value.replace("\n", " ") if field.docstring else ""
        yield f"| `{field.name}` | {kind and f'`{kind}`'} | {said} |"


def _wrapped(signature: str) -> str:
    """A long signature with one parameter a line."""
    if len(signature) <= 90:
        return signature
    name, _, rest = signature.partition("(")
    parameters, _, returns = rest.rpartition(")")
    return f"{name}(\n    " + re.sub(r", (?=\*|/|\w+: )", ",\n    ", parameters) + f",\n){returns}"


def _with_fenced_examples(docstring: str) -> str:
    """Examples of a docstring, which end at an empty line, as blocks."""
    return re.sub(r"^>>> .*?(?=\n\n|\Z)", r"```pycon\n\g<0>\n```", docstring, flags=re.MULTILINE | re.DOTALL)


if __name__ == "__main__":
    sys.exit(build(ROOT / "build/docs", ROOT / "site"))
