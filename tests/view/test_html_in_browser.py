"""Labels in a real browser: each begins where its word begins, in either direction. Skipped without Chromium or Playwright."""

from __future__ import annotations

import re
import shutil
from itertools import combinations

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

# For each label: the edges of it and of its bar, and its track.
LABELS = """[...document.querySelectorAll("article .tag")].map(tag => {
  const bar = document.querySelector(`.s[data-e="${tag.dataset.e}"]`).getBoundingClientRect();
  const at = tag.getBoundingClientRect().left, width = parseFloat(getComputedStyle(tag, "::after").width);
  const left = tag.classList.contains("r") ? at - width : at;
  return [Math.min(left, bar.left), Math.max(left + width, bar.right), tag.style.getPropertyValue("--t")];
})"""


@pytest.mark.parametrize("text", ["see אבג דה now", "אבג abc def זחט", "he said שלום 12 עולם ok then"])
def test_no_label_lies_under_another_word_of_its_track(text: str) -> None:
    spans = [word.span() for word in re.finditer(r"\S+", text)]
    page = render([Document(text, tuple(Entity("Organisation", (span,)) for span in spans))])
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        shown = browser.new_page()
        shown.set_content(page)
        labels = shown.evaluate(LABELS)
        browser.close()
    assert len(labels) == len(spans)
    for one, other in combinations(labels, 2):
        assert one[2] != other[2] or one[1] <= other[0] + 1 or other[1] <= one[0] + 1


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
