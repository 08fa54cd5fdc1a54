"""The documentation site has every page once; built, it needs no network, has no dead link, and can be searched."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from markdown_pages import ROOT, name_of, pages, read

import anyner

_LISTED = re.compile(r'"([\w./-]+\.md)"')


def misplaced(navigation: str, names: list[str]) -> list[str]:
    """What is wrong with the navigation, page by page."""
    listed = Counter(_LISTED.findall(navigation))
    missing = [f"{name} is missing: add it to a section" for name in names if name not in listed]
    repeated = [f"{name} is listed {count} times" for name, count in listed.items() if count > 1]
    return [*missing, *repeated, *(f"{name} is no page" for name in listed if name not in names)]


def test_every_page_is_in_the_navigation_once() -> None:
    names = [*map(name_of, pages()), "reference.md"]
    assert misplaced(read(ROOT / "docs/site/zensical.toml"), names) == []


def test_a_misplaced_page_is_noticed() -> None:
    said = misplaced('nav = ["a.md", { "B" = ["b.md", "b.md"] }, { "C" = "c.md" }]', ["a.md", "b.md", "new.md"])
    assert said == ["new.md is missing: add it to a section", "b.md is listed 2 times", "c.md is no page"]


@dataclass
class Page(HTMLParser):
    """What a built page has and where it leads."""

    file: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(read(self.file))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.anchors.update(value for name in ("id", "name") if (value := named.get(name)))
        if target := named.get("src") or named.get("href"):
            (self.links if tag == "a" else self.loaded).append(target)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("zensical", "griffe"):
        pytest.importorskip(package, reason=f"the site is not built: {package} is missing, `make docs` installs it")
    folder = tmp_path_factory.mktemp("documentation")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs/site")
        import build

        assert build.build(folder / "build", folder / "site") == 0
    return folder / "site"


@pytest.mark.slow
def test_the_built_site_has_no_dead_link_and_loads_nothing_from_elsewhere(site: Path) -> None:
    built = {file: Page(file) for file in site.rglob("*.html") if file.name != "404.html"}  # which only a server shows
    assert len(built) > len(pages())
    dead = []
    for page in built.values():
        for link in (*page.links, *page.loaded):
            url = urlsplit(link)
            if url.scheme or url.netloc:
                assert link in page.links, f"{page.file.relative_to(site)} loads {link}"
                continue
            target = (page.file.parent / unquote(url.path)).resolve() if url.path else page.file
            if not target.exists() or (url.fragment and unquote(url.fragment) not in built[target].anchors):
                dead.append(f"{page.file.relative_to(site)}: {link}")
    assert dead == []


@pytest.mark.slow
def test_the_reference_has_every_public_name(site: Path) -> None:
    anchors = Page(site / "reference.html").anchors
    assert {f"anyner{name.lower()}" for name in anyner.__all__} <= anchors


@pytest.mark.slow
def test_the_search_index_finds_label_studio(site: Path) -> None:
    index: dict[str, Any] = json.loads(read(site / "search.json"))
    assert "docs/serve.html#label-studio" in {item["location"] for item in index["items"] if "Label Studio" in item["title"]}


@pytest.mark.slow
def test_a_site_opened_from_the_disk_can_be_searched(site: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("the search is not tried in a browser: there is no chromium")
    from playwright.sync_api import expect, sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto((site / "docs/start.html").as_uri())
        page.get_by_role("button", name="Search").click()
        page.get_by_role("combobox").press_sequentially("Label Studio")
        expect(page.locator("a[href*='serve.html'][href$='#label-studio']")).to_be_visible(timeout=20_000)
        browser.close()
