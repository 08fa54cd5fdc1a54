"""The page in a real browser, on a real server. Skipped without Chromium or Playwright."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from step_models import step_recognizer

import anyner
from anyner.document import Document, Entity
from anyner.inference.recognizer import Recognizer
from anyner.serve.annotate import AnnotationFolder
from anyner.serve.app import create_app
from anyner.serve.service import Service
from anyner.serve.settings import ServeSettings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("the page is not tested: there is no chromium", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="the page is not tested: there is no playwright")

TEXT = "😀 Normal and malignant B cells express CD23 mRNA.\nPrimary human T and B lymphocytes do not."
LONGEST = 2_000
"""Characters of a text on this server."""
PROSE = "Acute pain in hip 😀 and knees."


@pytest.fixture(scope="module")
def recognizer() -> Recognizer:
    """Finds nested and discontinuous entities."""
    return anyner.load("biomed-en", runtime="onnx")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("texts")
    (made / "cells.txt").write_bytes(TEXT.replace("\n", "\r\n").encode())
    (made / "plain.txt").write_text("Nothing to find here.", encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def address(recognizer: Recognizer, folder: Path) -> Iterator[str]:
    """A server with the page, and with the page that annotates a folder under /folder."""
    settings = ServeSettings(text_characters=LONGEST)
    service = Service(("cells", "steps"), settings)
    service.add("cells", recognizer)
    service.add("steps", step_recognizer())
    apps = {"/page": create_app(service, settings), "/folder": create_app(service, settings, AnnotationFolder(folder))}
    both = Starlette(routes=[Mount(path, app) for path, app in apps.items()])
    server = uvicorn.Server(uvicorn.Config(both, port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()
    service.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """Opens the page. Only refusals by the server may reach the console, and no request may go elsewhere."""
    wrong: list[str] = []
    opened: list[Page] = []

    def opening(path: str = "/page/", text: str = "", **media: Any) -> Page:
        page = browser.new_page(viewport={"width": 1000, "height": 900}, **media)
        opened.append(page)
        page.set_default_timeout(20_000)
        page.on("console", lambda message: _note(wrong, message.type, message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: _note_request(wrong, request.url, address))
        page.goto(address + path)
        if text:
            fill(page, text)
        return page

    yield opening
    for page in opened:
        page.close()
    assert wrong == []


def _note(wrong: list[str], kind: str, text: str) -> None:
    if kind in ("error", "warning") and "Failed to load resource: the server responded with a status of 4" not in text:
        wrong.append(text)


def _note_request(wrong: list[str], url: str, address: str) -> None:
    if not url.startswith((address, "blob:")):
        wrong.append(f"asked for {url}")


def fill(page: Page, text: str) -> None:
    """Types a text and waits until it is drawn."""
    with page.expect_response("**/drawing"):
        page.fill("#text", text)
    page.wait_for_function(
        "text => [...document.querySelectorAll('#drawing .line')].map(one => one.textContent).join('\\n') === text", arg=text
    )


def downloaded(page: Page, folder: Path, *formats: str) -> Document:
    """The document in the files that the page offers for download."""
    for one in formats:
        with page.expect_download() as caught:
            page.click(f"[data-format={one}]")
        caught.value.save_as(folder / caught.value.suggested_filename)
    (document,) = anyner.read(folder / f"anyner.{formats[-1]}").documents
    return document


def keys(document: Document) -> list[tuple[str, Any]]:
    return [entity.key for entity in document.entities]


def select(page: Page, part: str) -> None:
    """Selects a range of the drawing with the mouse."""
    page.evaluate(
        """part => {
          const walker = document.createTreeWalker(document.getElementById("drawing"), NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            const at = walker.currentNode.data.indexOf(part);
            if (at < 0) continue;
            const range = document.createRange();
            range.setStart(walker.currentNode, at);
            range.setEnd(walker.currentNode, at + part.length);
            const { left, right, top, bottom } = range.getBoundingClientRect();
            globalThis.found = { left, right, middle: (top + bottom) / 2 };
            return;
          }
        }""",
        part,
    )
    place = page.evaluate("globalThis.found")
    page.mouse.move(place["left"] + 0.5, place["middle"])
    page.mouse.down()
    page.mouse.move(place["right"] - 0.5, place["middle"], steps=3)
    page.mouse.up()


def chosen_is(page: Page, text: str) -> None:
    page.wait_for_function("text => document.getElementById('chosen').textContent === text", arg=f"Selected: {text}")


def message_is(page: Page, text: str, where: str = "message") -> None:
    page.wait_for_function(f"text => document.getElementById('{where}').textContent.includes(text)", arg=text)


def entities_are(page: Page, number: int) -> None:
    page.wait_for_function("number => document.querySelectorAll('#list .entity').length === number", arg=number)


def test_entities_are_drawn_as_predict_finds_them(open_page: Callable[..., Page], recognizer: Recognizer, tmp_path: Path) -> None:
    expected = recognizer.predict(TEXT)
    assert any(entity.discontinuous for entity in expected.entities)
    page = open_page(text=TEXT)
    assert keys(downloaded(page, tmp_path, "jsonl")) == keys(expected)
    drawn = page.evaluate(
        """() => [...document.querySelectorAll('#drawing .s')].map(one =>
        [one.textContent, one.dataset.e, one.firstChild.style.backgroundImage.includes('repeating')])"""
    )
    for number, entity in enumerate(expected.entities):
        bars = [(text, dashed) for text, numbers, dashed in drawn if str(number) in numbers.split()]
        assert "".join(text for text, _ in bars).split() == expected.text[entity.start : entity.end].split()
        assert entity.discontinuous <= any(dashed for _, dashed in bars)
    assert any(" " in numbers for _, numbers, _ in drawn), "nested entities lie under the same words"


def test_settings_change_what_is_found_and_labels_what_is_shown(
    open_page: Callable[..., Page], recognizer: Recognizer, tmp_path: Path
) -> None:
    page = open_page(text=TEXT)
    with page.expect_response("**/drawing"):
        page.evaluate("one => { one.value = 0.9; one.dispatchEvent(new Event('input')); }", page.query_selector("[name=score]"))
    expected = recognizer.predict(TEXT, thresholds={"score": 0.9})
    assert 0 < len(expected.entities) < len(recognizer.predict(TEXT).entities)
    entities_are(page, len(expected.entities))
    assert keys(downloaded(page, tmp_path, "jsonl")) == keys(expected)
    label = expected.entities[0].label
    page.uncheck(f"#shown input[data-label={label}]")
    assert page.locator(f"#drawing [data-label={label}]").count() == 0
    assert keys(downloaded(page, tmp_path, "jsonl")) == keys(expected), "what is not shown is not lost"


def test_correcting_with_the_mouse_and_reading_it_back(open_page: Callable[..., Page], tmp_path: Path) -> None:
    page = open_page(text=PROSE)
    while page.locator(".drop").count():
        page.locator(".drop").first.click()
        message_is(page, "Removed")
        page.evaluate("document.getElementById('message').textContent = ''")
    select(page, "pain in hip ")
    chosen_is(page, "pain in hip")
    page.keyboard.down("Control")
    select(page, "knees")
    page.keyboard.up("Control")
    chosen_is(page, "pain in hip … knees")
    page.fill("#new-label", "<img src=x onerror=alert(1)>")
    page.click("#other button")
    message_is(page, "Added")
    assert page.locator("#drawing img, #list img").count() == 0
    assert page.locator("#list .entity").inner_text().startswith("<img src=x")
    page.fill("#new-label", "Symptom")
    page.click("#other button")
    message_is(page, "Relabelled")
    expected = Document(PROSE, (Entity("Symptom", ((6, 17), (24, 29))),))
    assert downloaded(page, tmp_path, "jsonl").entities == expected.entities
    assert downloaded(page, tmp_path, "txt", "ann").entities == expected.entities
    page.keyboard.down("Control")
    select(page, "Acute")
    page.keyboard.up("Control")
    message_is(page, "Fragment added")
    assert keys(downloaded(page, tmp_path, "jsonl")) == [("Symptom", ((0, 17), (24, 29)))]
    page.locator("#text").press("End")
    page.locator("#text").press_sequentially(" Now.")
    message_is(page, "kept as you type")
    page.click("#undo")
    message_is(page, "Undone")
    page.click("#undo")
    page.click("#undo")
    page.wait_for_function("() => !document.getElementById('list').textContent.includes('Symptom')")


def test_correcting_with_the_keyboard(open_page: Callable[..., Page], tmp_path: Path) -> None:
    page = open_page(text=PROSE)
    before = downloaded(page, tmp_path, "jsonl")
    box = page.locator("#text")
    box.press("Control+Home")
    for _ in range(6):
        box.press("ArrowRight")
    for _ in range(4):
        box.press("Shift+ArrowRight")
    chosen_is(page, "pain")
    page.locator("#fragment").press("Enter")
    box.press("End")
    box.press("ArrowLeft")
    for _ in range(5):
        box.press("Shift+ArrowLeft")
    chosen_is(page, "pain … knees")
    box.press("Alt+Digit2")
    message_is(page, "Added RNA")
    after = downloaded(page, tmp_path, "jsonl")
    assert {*keys(after)} == {*keys(before), ("RNA", ((6, 10), (24, 29)))}
    page.get_by_role("button", name="RNA pain knees", exact=True).press("Digit1")
    page.get_by_role("button", name="DNA pain knees", exact=True).press("Delete")
    message_is(page, "Removed DNA pain knees")
    assert keys(downloaded(page, tmp_path, "jsonl")) == keys(before)


def test_labels_stay_in_view_beside_a_long_text(open_page: Callable[..., Page]) -> None:
    page = open_page(text="\n".join(["Normal B cells express CD23."] * 40))
    page.evaluate("scrollTo(0, 300)")
    place = page.locator("#give").bounding_box()
    assert place is not None and 0 < place["y"] < 900 - place["height"]


def test_an_edit_ends_a_prediction_that_is_under_way(open_page: Callable[..., Page]) -> None:
    page = open_page(text=PROSE)
    fill(page, TEXT)
    page.evaluate(
        """() => {
          const { fetch } = window;
          window.fetch = (path, how) => path !== "predict" ? fetch(path, how) : new Promise((_, fail) =>
            how.signal.addEventListener("abort", () => fail(new DOMException("", "AbortError"))));
          document.querySelector("[name=score]").dispatchEvent(new Event("input"));
        }"""
    )
    page.wait_for_selector("#drawing[aria-busy]")
    page.locator(".drop").first.click()
    message_is(page, "Removed")
    assert page.locator("#drawing[aria-busy]").count() == 0


def test_wrong_input_is_reported(open_page: Callable[..., Page]) -> None:
    page = open_page(text=PROSE)
    page.fill("#text", "x" * (LONGEST + 1))
    message_is(page, f"a text has at most {LONGEST} characters", "error")
    page.set_input_files("#file", {"name": "photo.txt", "mimeType": "text/plain", "buffer": b"\xff\xfe\xff"})
    message_is(page, "photo.txt: not a UTF-8 text file", "error")
    page.set_input_files("#file", {"name": "note.txt", "mimeType": "text/plain", "buffer": TEXT.encode()})
    page.wait_for_selector("#error[hidden]", state="attached")
    page.wait_for_selector("#list li")
    page.fill("#new-label", "Symptom")
    page.click("#other button")
    message_is(page, "Nothing is selected", "error")


def test_a_slider_walks_through_the_denoising_steps(open_page: Callable[..., Page]) -> None:
    page = open_page(text=PROSE)
    page.select_option("#model", "steps")
    with page.expect_response("**/steps") as caught:
        page.check("#watch")
    by_step = [{entity["text"] for entity in document["entities"]} for document in caught.value.json()["documents"]]
    page.wait_for_selector("#step-field:not([hidden])")
    for step in range(len(by_step), 0, -1):
        page.evaluate(
            "([one, step]) => { one.value = step; one.dispatchEvent(new Event('input')); }", [page.query_selector("#step"), step]
        )
        page.wait_for_function(
            """texts => [...document.querySelectorAll('#list bdi:nth-of-type(2)')].map(one => one.textContent).sort().join('|')
            === texts""",
            arg="|".join(sorted(by_step[step - 1])),
        )


def test_a_folder_is_annotated(open_page: Callable[..., Page], folder: Path) -> None:
    page = open_page("/folder/")
    page.wait_for_selector("#list li")
    page.locator("#list .drop").first.click()
    message_is(page, "Removed")
    kept = page.locator("#list .entity").count()
    page.click("#save")
    page.wait_for_selector("#texts [aria-current][aria-label^=plain]")
    (document,) = anyner.read(folder / "annotations.jsonl").documents
    assert document.id == "cells.txt" and len(document.entities) == kept
    assert all(entity.score is None for entity in document.entities)
    page.reload()
    page.wait_for_selector("#texts [aria-label='cells.txt, done']")
    page.click("#texts [aria-label='cells.txt, done']")
    entities_are(page, kept)
    page.locator("#text").evaluate(
        "one => { one.focus(); one.setSelectionRange(one.value.indexOf('do'), one.value.indexOf(' not')); }"
    )
    chosen_is(page, "do")


def test_the_next_text_does_not_scroll_the_page_to_the_list(open_page: Callable[..., Page]) -> None:
    page = open_page("/folder/")
    page.wait_for_selector("#texts [aria-current]")
    page.set_viewport_size({"width": 360, "height": 500})
    before = page.locator("#texts [aria-current]").inner_text()
    page.click("#next")
    page.wait_for_function("before => document.querySelector('#texts [aria-current]').innerText !== before", arg=before)
    place = page.locator("#next").bounding_box()
    assert place is not None and 0 < place["y"] < 500


def test_a_text_is_stored_only_once_it_is_there(open_page: Callable[..., Page], folder: Path) -> None:
    """Save and next is pressed again while the drawing of the next text is under way."""
    page = open_page("/folder/")
    page.click("#texts [aria-label^=cells]")
    page.wait_for_selector("#texts [aria-current][aria-label^=cells]")
    shown = page.locator("#list .entity").count()
    page.evaluate(
        """() => {
          const { fetch } = window, late = new Promise(done => setTimeout(done, 1_000));
          window.fetch = async (path, ...how) => { if (path === "drawing") await late; return fetch(path, ...how); };
        }"""
    )
    with page.expect_response("**/annotate/texts/1"):
        page.click("#save")
    page.click("#save")
    page.wait_for_selector("#texts [aria-current][aria-label^=plain]")
    (document,) = anyner.read(folder / "annotations.jsonl").documents
    assert document.id == "cells.txt" and len(document.entities) == shown > 0


@pytest.mark.parametrize(("path", "looks"), [("/page/", [("light", 1000), ("dark", 360)]), ("/folder/", [("light", 360)])])
def test_no_serious_accessibility_violation(open_page: Callable[..., Page], path: str, looks: list[tuple[Any, int]]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="accessibility is not tested: no axe").Axe()
    page = open_page(path)
    if path == "/page/":
        fill(page, TEXT)
    else:
        page.click("#texts [aria-label^=cells]")
    page.locator(".entity").first.click()
    for scheme, width in looks:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        found = axe.run(page).response["violations"]
        serious = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
        assert serious == [], (scheme, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
