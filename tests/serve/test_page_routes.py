"""The requests of the page."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from served import StandIn, client_of, service_of
from step_models import STEPS, step_recognizer

import anyner
from anyner.document import Document, Entity
from anyner.serve.page import drawn
from anyner.serve.service import Service
from anyner.serve.settings import ServeSettings
from anyner.view.colours import colour_of

TEXT = "Pain in 😀 hip\r\nand <b>knees</b>"
ENTITIES = [{"label": "Symptom", "fragments": [[0, 13], [22, 27]]}, {"label": "a label", "fragments": [[10, 13]], "score": 0.5}]


def asked(method: str, path: str, body: Any = None, service: Service | None = None) -> httpx2.Response:
    async def talked() -> httpx2.Response:
        served = service or service_of(StandIn(), ServeSettings())
        try:
            async with client_of(served) as client:
                return await client.request(method, path, json=body)
        finally:
            served.close()

    return asyncio.run(talked())


def test_nothing_but_the_page_and_its_own_files_can_be_loaded() -> None:
    page = asked("GET", "/")
    assert page.headers["content-security-policy"].startswith("default-src 'self';") and "data-annotate" not in page.text
    assert "http" not in page.text and "<script>" not in page.text and "style=" not in page.text
    assert asked("GET", "/static/page.js").headers["content-type"].startswith("text/javascript")
    assert "--p9: light-dark(" in asked("GET", "/static/drawing.css").text
    assert asked("GET", "/static/index.html").status_code == 200
    for path in ("/static/page.py", "/static/..%2Fpage.py", "/annotate/texts"):
        assert asked("GET", path).status_code == 404


def test_a_drawing_has_every_character_and_every_entity() -> None:
    answer = asked("POST", "/drawing", {"text": TEXT, "entities": ENTITIES, "labels": ["More"]}).json()
    assert answer["colours"] == {label: colour_of(label).number for label in ("More", "Symptom", "a label")}
    assert [entity["fragments"] for entity in answer["entities"]] == [[[0, 13], [22, 27]], [[10, 13]]]
    first, second = answer["lines"]
    assert [line["start"] for line in (first, second)] == [0, 15]
    assert ["".join(part[0] for part in line["segments"]) for line in (first, second)] == TEXT.split("\r\n")
    solid = {(part[0], bar[0]) for line in (first, second) for part in line["segments"] for bar in part[1] if bar[2]}
    assert solid == {("Pain in 😀 ", 0), ("hip", 0), ("hip", 1), ("knees", 0)}
    assert drawn(Document(""))["lines"] == [{"start": 0, "segments": []}]


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        (
            "/drawing",
            {"text": "Pain", "entities": [{"label": "A", "fragments": [[0, 5]]}]},
            400,
            "ends after the text's 4 characters",
        ),
        ("/drawing", {"text": "Pain", "entities": [ENTITIES[1] | {"fragments": [[0, 1]]}] * 2}, 400, "duplicate entity a label"),
        ("/drawing", {"text": "Pain", "entities": [{"label": "A"}]}, 422, "fragments: Field required"),
        (
            "/export",
            {"text": TEXT, "entities": ENTITIES, "format": "ann"},
            400,
            "format brat cannot hold document 1: entity 'a label'",
        ),
        (
            "/drawing",
            {"text": "a" * 2000, "entities": [{"label": "A", "fragments": [[n, 2000 - n]]} for n in range(500)]},
            413,
            "too many overlapping entities to draw: at most 100,000 bars, got 250,000",
        ),
        ("/steps", {"text": "Pain"}, 400, "the model stand-in has no steps to show"),
    ],
)
def test_what_is_refused_is_one_line(path: str, body: Any, status: int, words: str) -> None:
    answer = asked("POST", path, body)
    assert answer.status_code == status and words in answer.json()["error"] and "\n" not in answer.json()["error"]


def test_an_export_is_what_the_library_writes(tmp_path: Any) -> None:
    entities = [{"label": "Symptom", "fragments": [[0, 13], [22, 27]]}]
    for kind in ("jsonl", "txt", "ann"):
        content = asked("POST", "/export", {"text": TEXT, "entities": entities, "format": kind}).json()["content"]
        (tmp_path / f"x.{kind}").write_bytes(content.encode())
    expected = (TEXT, (Entity("Symptom", ((0, 13), (22, 27))),))
    for kind in ("jsonl", "ann"):
        (document,) = anyner.read(tmp_path / f"x.{kind}").documents
        assert (document.text, document.entities) == expected


def test_the_last_step_is_what_predict_finds() -> None:
    recognizer = step_recognizer()
    service = Service(("steps",), ServeSettings())
    service.add("steps", recognizer)
    documents = asked("POST", "/steps", {"text": "Pain in the left knee since Monday."}, service).json()["documents"]
    found = [
        [entity.to_json() for entity in recognizer.predict(documents[0]["text"], options={"after_step": step}).entities]
        for step in range(1, STEPS + 1)
    ]
    assert [document["entities"] for document in documents] == found
    assert found[-1] == [entity.to_json() for entity in recognizer.predict(documents[0]["text"]).entities]
    assert found[0] != found[-1]
