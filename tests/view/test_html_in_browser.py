"""Labels in a real browser: each begins where its word begins, in either direction. Skipped without Chromium or Playwright."""

from __future__ import annotations

import shutil

import pytest

from anyner.document import Document, Entity
from anyner.view.html import render

CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("the page is not tested: there is no chromium", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="the page is not tested: there is no playwright")

PLACES = """[...document.querySelectorAll("article .tag")].map(tag => {
  const word = document.querySelector(`.s[data-e="${tag.dataset.e}"]`).getBoundingClientRect();
  const edge = tag.classList.contains("r") ? word.right : word.left;
  return Math.abs(tag.getBoundingClientRect().left - edge);
})"""


@pytest.mark.parametrize("text", ["met שלום עולם in Rome and محمد again", "שלום Rome עולם met NATO גדול"])
def test_a_word_that_runs_the_other_way_is_labelled_where_it_begins(text: str) -> None:
    words = ("שלום", "עולם", "Rome", "met", "محمد", "NATO")
    spans = [(text.index(word), text.index(word) + len(word)) for word in words if word in text]
    page = render([Document(text, tuple(Entity("A", (span,)) for span in spans))])
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        shown = browser.new_page()
        shown.set_content(page)
        distances = shown.evaluate(PLACES)
        browser.close()
    assert len(distances) == len(spans) and max(distances) < 1
