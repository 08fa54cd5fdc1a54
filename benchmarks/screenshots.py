"""The pictures of docs/look.md. The screenshots need Chromium and Playwright (pip install playwright), which anyner does not.

anyner train --data synthetic --architecture biaffine --encoder from_scratch --set training.epochs=10 -o runs/all-shapes
anyner evaluate runs/all-shapes synthetic:test --report runs/report.html
python benchmarks/screenshots.py runs/all-shapes runs/report.html --chromium /usr/bin/chromium
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from script import ROOT, parser_of

import anyner
from anyner.view.render import Drawing
from anyner.view.training import PICTURE

FIGURES = ROOT / "docs/figures"
WIDTH = 900


def drawing() -> Drawing:
    """What the first block of the page draws."""
    block = next(iter(re.findall(r"```python\n(.*?)```", (ROOT / "docs/look.md").read_text(encoding="utf-8"), re.DOTALL)))
    names: dict[str, Any] = {"anyner": anyner}
    exec(block.replace('drawing.save("drawing.svg")', ""), names)
    made: Drawing = names["drawing"]
    return made


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("model", type=Path, help="a model folder, for the picture of its training")
    parser.add_argument("report", type=Path, help="an HTML file of anyner evaluate --report")
    parser.add_argument("--chromium", help="path of the browser")
    arguments = parser.parse_args()
    (FIGURES / "drawing.svg").write_text(drawing().svg(), encoding="utf-8")
    shutil.copy(arguments.model / PICTURE, FIGURES / PICTURE)

    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 760}, color_scheme="light")
        page.goto(arguments.report.resolve().as_uri())
        page.screenshot(path=FIGURES / "report.png")
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": WIDTH, "height": 620})
        page.evaluate("document.getElementById('errors').scrollIntoView()")
        page.screenshot(path=FIGURES / "report-errors.png")
        browser.close()


if __name__ == "__main__":
    main()
