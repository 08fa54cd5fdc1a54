"""Pages fit together: links lead somewhere, no path of one machine, every block says what it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from markdown_pages import ROOT, RUN, SHOWN, blocks, name_of, pages, read, without_blocks

import anyner

EACH_PAGE = pytest.mark.parametrize("page", pages(), ids=name_of)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_MACHINE_PATH = re.compile(r"(?<![\w.>])/(home|work|tmp|root|Users|mnt|opt|usr)/|[A-Z]:\\")


def anchors(text: str) -> set[str]:
    """The anchors GitHub makes of headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(without_blocks(text))}


def broken_links(page: Path, text: str) -> list[str]:
    broken = []
    for link in _LINK.findall(without_blocks(text)):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        there = not path.startswith("/") and target.is_file()  # the site shows a file, but no folder
        if not there or (anchor and anchor not in anchors(read(target) if path else text)):
            broken.append(link)
    return broken


@EACH_PAGE
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page, read(page)) == []


def test_a_broken_link_is_noticed() -> None:
    inside, outside = "[a](#one) [b](#two)", "[c](nowhere.md) [d](docs/shapes.md#overlap-policies) [e](/docs/shapes.md)"
    text = f"# One\n{inside} {outside} [f](docs/shapes.md#no) [g](docs)"
    assert broken_links(ROOT / "README.md", text) == ["#two", "nowhere.md", "/docs/shapes.md", "docs/shapes.md#no", "docs"]


@EACH_PAGE
def test_no_page_names_a_path_of_one_machine(page: Path) -> None:
    assert _MACHINE_PATH.search(read(page)) is None


def test_a_path_of_one_machine_is_noticed() -> None:
    assert _MACHINE_PATH.search("see /home/me/x")


@EACH_PAGE
def test_every_block_is_marked_as_run_or_shown(page: Path) -> None:
    assert {block.mark for block in blocks(read(page))} <= {*RUN, *SHOWN}


@EACH_PAGE
def test_what_is_only_shown_is_no_ordinary_command(page: Path) -> None:
    """Whatever could be run belongs in a `bash` block; `console` is for what needs a network, server, data, time or checkout."""
    set_up = (
        r"make |python3 -m venv|\.venv/bin/pip|source |accelerate launch|torchrun|python benchmarks/|anyner serve|curl |docker "
    )
    excused = rf"{set_up}|pip install \.$|anyner .*(my-folder|--encoder |--resume|tagger|inspect synthetic$|data.folder=data/)"
    for block in blocks(read(page)):
        if block.mark == "console":
            for line in block.code.splitlines():
                assert re.match(excused, line), f"{name_of(page)}:{block.line}: {line}"


def test_links_lead_from_the_readme_to_every_page() -> None:
    known = {page.resolve() for page in pages()}
    reached, waiting = set[Path](), [(ROOT / "README.md").resolve()]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        linked = {(page.parent / link.partition("#")[0]).resolve() for link in _LINK.findall(read(page))}
        waiting += (linked & known) - reached
    assert reached == known


def test_citation_names_the_package_and_the_papers() -> None:
    citation = yaml.safe_load(read(ROOT / "CITATION.cff"))
    assert citation["title"].startswith("anyner") and citation["version"] == anyner.__version__
    named = {reference["notes"].removeprefix("architecture ") for reference in citation["references"]}
    assert named == {"biaffine", "diffusion_ner", "locate_label", "nag_ner", "set_gner"}
    assert all(reference["title"] and reference["authors"] and reference["year"] for reference in citation["references"])


def test_changelog_speaks_of_this_version() -> None:
    assert re.search(
        rf"^## \[Unreleased\]\n\nTo become {re.escape(anyner.__version__)}\.$", read(ROOT / "CHANGELOG.md"), re.M
    ) or (f"## [{anyner.__version__}]" in read(ROOT / "CHANGELOG.md"))
