"""The pages for users, and the marked blocks in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUN = ("bash", "python")
SHOWN = ("console", "text", "yaml", "json", "toml", "")
_BLOCK = re.compile(r"^```([\w-]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    mark: str
    code: str
    line: int
    output: str | None = None
    """The `text` block that stands right after it."""


def pages() -> list[Path]:
    found = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
    found += sorted(ROOT.glob("benchmarks/*.md"))
    return [*found, *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("src/anyner/architectures/*/README.md"))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(text: str) -> list[Block]:
    """Every fenced block, each with its output where one is shown."""
    matches = list(_BLOCK.finditer(text))
    found = []
    for match, following in zip(matches, [*matches, None][1:], strict=True):
        shown = following is not None and following[1] == "text" and not text[match.end() : following.start()].strip()
        output = following[2] if following is not None and shown and match[1] in RUN else None
        found.append(Block(match[1], match[2], text.count("\n", 0, match.start()) + 1, output))
    return found


def without_blocks(text: str) -> str:
    return _BLOCK.sub("", text)


def without_code(text: str) -> str:
    """Without blocks and without what stands in back-quotes."""
    return re.sub(r"`[^`\n]*`", "", without_blocks(text))


def table_rows(text: str, first_heading: str) -> list[list[str]]:
    """The rows of every table whose first column has that heading, cells without back-quotes."""
    rows: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        cells = [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]
        if cells[0] == first_heading:
            inside = True
        elif inside and not set(cells[0]) <= {"-"}:
            rows.append(cells)
    return rows
