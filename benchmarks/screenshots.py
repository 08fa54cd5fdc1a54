"""The pictures of docs/look.md and docs/annotate.md. The screenshots need Chromium and Playwright (pip install playwright).

anyner train --data synthetic --architecture biaffine --encoder from_scratch --set training.epochs=10 -o runs/all-shapes
anyner evaluate runs/all-shapes synthetic:test --report runs/report.html
python benchmarks/screenshots.py runs/all-shapes runs/report.html --chromium /usr/bin/chromium
python benchmarks/screenshots.py --chromium /usr/bin/chromium        only those of the web page
"""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from script import ROOT, parser_of

import anyner
from anyner.view.render import Drawing
from anyner.view.training import PICTURE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FIGURES = ROOT / "docs/figures"
WIDTH = 900
TEXT = (
    "Normal and malignant B cells express CD23 mRNA.\n"
    "Primary human T and B lymphocytes express the IL-2 receptor alpha chain gene."
)
FRAGMENTS = ("Primary human", "B lymphocytes")
"""Fragments of a discontinuous entity that is assembled on the page."""
NOTES = {
    "admission": "Activated T cells were incubated with interleukin-2 for two days.",
    "binding": "Antibodies against the p50 and p65 subunits of NF-kappa B blocked binding.",
    "cells": TEXT,
    "expression": "GATA-1 and GATA-2 transcripts were found in mast and erythroid cells.",
    "follow-up": "The patient returned after three weeks.",
    "promoter": "The human IL-4 promoter binds NF-AT in Jurkat cells.",
}


def drawing() -> Drawing:
    """What the first block of the page draws."""
    block = next(iter(re.findall(r"```python\n(.*?)```", (ROOT / "docs/look.md").read_text(encoding="utf-8"), re.DOTALL)))
    names: dict[str, Any] = {"anyner": anyner}
    exec(block.replace('drawing.save("drawing.svg")', ""), names)
    made: Drawing = names["drawing"]
    return made


@contextmanager
def serving(folder: Path | None = None) -> Iterator[str]:
    """The address of a server in this process."""
    import uvicorn

    from anyner.serve.annotate import AnnotationFolder
    from anyner.serve.app import create_app
    from anyner.serve.service import Service
    from anyner.serve.settings import ServeSettings

    settings = ServeSettings()
    service = Service(("biomed-en",), settings)
    service.add("biomed-en", anyner.load("biomed-en"))
    app = create_app(service, settings, AnnotationFolder(folder) if folder else None)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        service.close()


def report_shots(browser: Browser, report: Path) -> None:
    page = browser.new_page(viewport={"width": WIDTH, "height": 760}, color_scheme="light")
    page.goto(report.resolve().as_uri())
    page.screenshot(path=FIGURES / "report.png")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": WIDTH, "height": 620})
    page.evaluate("document.getElementById('errors').scrollIntoView()")
    page.screenshot(path=FIGURES / "report-errors.png")


def page_shots(browser: Browser) -> None:
    with serving() as address:
        page = browser.new_page(viewport={"width": WIDTH, "height": 720}, color_scheme="light")
        page.goto(address)
        page.fill("#text", TEXT)
        page.wait_for_selector("#list li")
        page.screenshot(path=FIGURES / "page.png")
        page.emulate_media(color_scheme="dark")
        for number, fragment in enumerate(FRAGMENTS):
            if number:
                page.click("#fragment")
            select_in_box(page, fragment)
        page.wait_for_function("text => document.getElementById('chosen').textContent.includes(text)", arg=" … ")
        page.locator("#editor").screenshot(path=FIGURES / "page-edit.png")


def annotate_shot(browser: Browser) -> None:
    with TemporaryDirectory() as place:
        for name, text in NOTES.items():
            (Path(place) / f"{name}.txt").write_text(text, encoding="utf-8")
        with serving(Path(place)) as address:
            page = browser.new_page(viewport={"width": WIDTH, "height": 720}, color_scheme="light")
            page.goto(address)
            next_text = "#texts [aria-current][aria-label$=', not done']"
            for done in range(3):
                page.wait_for_selector(next_text)
                page.click("#save")
                page.wait_for_function(
                    "done => document.getElementById('progress').textContent.startsWith(done)", arg=str(done + 1)
                )
            page.wait_for_selector(next_text)
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=FIGURES / "annotate.png")


def select_in_box(page: Page, part: str) -> None:
    page.locator("#text").evaluate(
        "(box, part) => { const at = box.value.indexOf(part); box.focus(); box.setSelectionRange(at, at + part.length); }", part
    )
    page.wait_for_function("text => document.getElementById('chosen').textContent.includes(text)", arg=part)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("model", type=Path, nargs="?", help="a model folder, for the picture of its training")
    parser.add_argument("report", type=Path, nargs="?", help="an HTML file of anyner evaluate --report")
    parser.add_argument("--chromium", help="path of the browser")
    arguments = parser.parse_args()
    (FIGURES / "drawing.svg").write_text(drawing().svg(), encoding="utf-8")
    if arguments.model:
        shutil.copy(arguments.model / PICTURE, FIGURES / PICTURE)

    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox"])
        if arguments.report:
            report_shots(browser, arguments.report)
        page_shots(browser)
        annotate_shot(browser)
        browser.close()


if __name__ == "__main__":
    main()
