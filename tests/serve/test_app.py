"""What the server answers: the same as `predict`, and one clear line for everything else."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from served import StandIn, client_of, service_of

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.inference.recognizer import Recognizer
from anyner.serve.app import create_app
from anyner.serve.service import Service
from anyner.serve.settings import ServeSettings

JSON = {"content-type": "application/json"}
NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture(scope="session")
def general() -> Recognizer:
    return anyner.load("general-en", device="cpu", threads=1)


def asked(
    talk: Callable[[httpx2.AsyncClient], Awaitable[Any]], model: Any = None, service: Service | None = None, **limits: Any
) -> Any:
    """The response of a server with these limits."""

    async def talked() -> Any:
        served = service or service_of(model or StandIn(), ServeSettings(**limits))
        try:
            async with client_of(served) as client:
                return await talk(client)
        finally:
            served.close()

    return asyncio.run(talked())


def posted(body: Any, path: str = "/predict", headers: dict[str, str] = JSON, **limits: Any) -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer: httpx2.Response = asked(lambda client: client.post(path, content=content, headers=headers), **limits)
    return answer


def test_answers_equal_predict_under_concurrency(general: Recognizer) -> None:
    texts = [document.text for document in synthetic(40, contiguous=True).documents]

    chosen = [{"score": 0.9 - number % 2 / 2} for number in range(len(texts))]

    async def talk(client: httpx2.AsyncClient) -> list[httpx2.Response]:
        bodies = [{"texts": text, "thresholds": one} for text, one in zip(texts, chosen, strict=True)]
        return await asyncio.gather(*(client.post("/predict", json=body) for body in bodies))

    for text, one, answer in zip(texts, chosen, asked(talk, general), strict=True):
        expected = general.predict(text, thresholds=one).to_json()
        del expected["id"]
        assert answer.status_code == 200 and answer.json() == {"model": "stand-in", "documents": [expected]}


def test_models_list_their_settings(general: Recognizer) -> None:
    model = asked(lambda client: client.get("/models"), general).json()["models"][0]
    assert model["architecture"] == "biaffine" and model["labels"] == ["LOC", "MISC", "ORG", "PER"]
    assert model["thresholds"] == {"score": {"value": 0.4, "lowest": 0.1}} and model["shapes"] == ["flat"]
    assert not model["steps"] and model["overlap"] in model["policies"]


def test_texts_settings_and_labels_of_a_request() -> None:
    many = posted({"texts": ["Ann met Bob", ""], "labels": ["Pair"], "overlap": "all"}).json()
    assert many["documents"] == [
        {"text": "Ann met Bob", "entities": [{"label": "Pair", "fragments": [[0, 3], [8, 11]], "text": "Ann Bob", "score": 0.5}]},
        {"text": "", "entities": []},
    ]


@pytest.mark.parametrize(
    ("body", "status", "line"),
    [
        ({"texts": "a", "model": "../secret"}, 400, "unknown model '../secret'; available: stand-in"),
        ({"texts": "a", "labels": ["Place"]}, 400, "unknown label 'Place'; the model has: Name, Pair"),
        ({"texts": "a", "thresholds": {"x": 1}}, 400, "unknown threshold 'x'"),
        ({"texts": "a", "options": {"steps": 101}}, 400, "option steps: expected at most 100, got 101"),
        ({"texts": "a", "overlap": "none"}, 422, "overlap: Input should be"),
        ({"text": "a"}, 422, "texts: Field required"),
        ({"texts": "a", "key": 1}, 422, "key: Extra inputs are not permitted"),
        ({"texts": ["a", 3]}, 422, "texts.1: Input should be a valid string"),
        ({"texts": 3}, 422, "texts: Input should be a valid"),
        ([1], 422, "expected a JSON object"),
        (b"{", 422, "the body is not JSON"),
        (b"\xff", 422, "the body is not JSON"),
        (b"[" * 100_000, 422, "the body is not JSON"),
        (rb'{"texts": ["a", "\ud800"]}', 400, "texts[1]: the text has a lone surrogate at character 0"),
        ({"texts": ["a"] * 4}, 413, "a request has at most 3 texts, got 4"),
        ({"texts": "a" * 51}, 413, "texts[0]: a text has at most 50 characters, got 51"),
        (b" " * 200_001, 413, "a body has at most 200000 bytes"),
    ],
)
def test_errors_are_reported_in_one_line(body: Any, status: int, line: str) -> None:
    answer = posted(body, texts=3, text_characters=50, body_bytes=200_000)
    assert answer.status_code == status and list(answer.json()) == ["error"]
    assert answer.json()["error"].startswith(line) and "\n" not in answer.json()["error"]


def test_other_media_types_methods_and_paths_are_refused() -> None:
    assert posted({"texts": "a"}, headers={"content-type": "text/plain"}).status_code == 415
    assert posted({"texts": "a"}, path="/predict?model=x").status_code == 422
    wrong = asked(lambda client: client.get("/predict"))
    assert (wrong.status_code, wrong.headers["allow"], wrong.json()) == (405, "POST", {"error": "Method Not Allowed"})
    assert asked(lambda client: client.get("/../etc/passwd")).status_code == 404


def test_a_chunked_body_is_limited_while_it_is_read() -> None:
    sent = 0

    async def body() -> Any:
        nonlocal sent
        for _ in range(1000):
            sent += 1
            yield b" " * 1000

    answer = asked(
        lambda client: client.post("/predict", content=body(), headers=JSON), body_bytes=5_000, all_bodies_bytes=10_000
    )
    assert answer.status_code == 413 and sent < 20


@pytest.mark.parametrize(
    ("path", "types"),
    [
        ("/predict", ["application/json", "application/x-ndjson"]),
        ("/predict", ["application/x-ndjson", "application/json"]),
        ("/drawing", ["application/x-ndjson"]),
        ("/nowhere", ["application/x-ndjson"]),
    ],
)
def test_no_header_lifts_the_limits_of_a_body(path: str, types: list[str]) -> None:
    headers = [("content-type", one) for one in types]
    body = json.dumps({"texts": "Ann", "text": "Ann", "entities": []}).encode()
    answer = asked(lambda client: client.post(path, content=body, headers=headers), body_bytes=len(body) - 1)
    assert answer.status_code == 413
    short = asked(lambda client: client.post(path, content=body, headers=headers))
    assert short.status_code == (415 if path == "/predict" else 404 if path == "/nowhere" else 422)


@pytest.mark.parametrize(("headers", "body"), [(JSON, b'{"texts": "Ann"}'), (NDJSON, b'"Ann"\n')])
def test_a_client_that_stops_reading_ends_its_connection_without_an_error(headers: dict[str, str], body: bytes) -> None:
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return waiting.pop() if waiting else await asyncio.sleep(60)

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await asyncio.sleep(60)

    async def talked() -> None:
        service = service_of(StandIn(), ServeSettings(idle_seconds=0.05))
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": "POST", "path": "/predict", "query_string": b"", "headers": pairs}
        try:
            async with asyncio.timeout(10):
                await create_app(service, service.settings)(scope, receive, send)
        finally:
            service.close()

    asyncio.run(talked())


def test_slow_bodies_and_too_many_bytes_at_once_are_refused() -> None:
    async def body() -> Any:
        yield b"{"
        await asyncio.sleep(5)

    answer = asked(lambda client: client.post("/predict", content=body(), headers=JSON), body_seconds=0.05)
    assert (answer.status_code, answer.json()["error"]) == (408, "the body did not arrive within 0.05 seconds")
    full = posted({"texts": "abc"}, all_bodies_bytes=5)
    assert full.status_code == 503 and full.headers["retry-after"] == "1"


def test_a_key_is_required() -> None:
    async def talk(client: httpx2.AsyncClient) -> list[int]:
        basic = base64.b64encode(b"me:geheim\xc3\xa9").decode()
        given = ["", "Bearer geheimé", "Bearer nothing", f"Basic {basic}", "Basic ???", "Digest x"]
        answers = [await client.get("/models", headers={"authorization": one.encode()}) for one in given]
        assert answers[0].headers["www-authenticate"].startswith("Basic") and "key" in answers[0].json()["error"]
        return [one.status_code for one in [*answers, await client.get("/health"), await client.get("/ready")]]

    service = Service(("stand-in",), ServeSettings(key="geheimé"))
    assert asked(talk, service=service) == [401, 200, 401, 200, 401, 401, 200, 503]


def test_another_host_name_is_refused() -> None:
    """A page of another site may resolve its own name to this machine."""

    async def talk(client: httpx2.AsyncClient) -> list[int]:
        hosts = ("localhost:8000", "[::1]:8000", "127.0.0.1", "evil.example", "")
        return [(await client.get("/health", headers={"host": host})).status_code for host in hosts]

    assert asked(talk, hosts=("localhost", "127.0.0.1", "::1")) == [200, 200, 200, 400, 400]


def test_loading_is_reported() -> None:
    service = Service(("later",), ServeSettings())

    async def talk(client: httpx2.AsyncClient) -> list[Any]:
        paths = [await client.get(path) for path in ("/health", "/ready", "/models")]
        return [*paths, await client.post("/predict", json={"texts": "a"})]

    health, ready, models, predict = asked(talk, service=service)
    assert (health.status_code, ready.status_code, predict.status_code) == (200, 503, 503)
    assert models.json() == {"models": []} and predict.headers["retry-after"] == "1"


def test_metrics_count_requests_texts_and_entities() -> None:
    async def talk(client: httpx2.AsyncClient) -> str:
        await client.post("/predict", json={"texts": ["Ann met Bob", "Eve"]})
        await client.post("/predict", json={})
        await client.get("/secret-path")
        async with asyncio.timeout(10):
            while "anyner_batch_texts_count 1" not in (text := (await client.get("/metrics")).text):  # counted after the answer
                await asyncio.sleep(0.01)
        return text

    lines = asked(talk).splitlines()
    assert 'anyner_requests_total{path="/predict",status="200"} 1' in lines
    assert 'anyner_requests_total{path="/predict",status="422"} 1' in lines
    assert 'anyner_requests_total{path="other",status="404"} 1' in lines  # a client must not make up names
    assert 'anyner_texts_total{model="stand-in"} 2' in lines and 'anyner_entities_total{model="stand-in"} 4' in lines
    assert 'anyner_queued_texts{model="stand-in"} 0' in lines and 'anyner_batch_texts_bucket{le="2"} 1' in lines


def test_ndjson_answers_lines_in_order_and_ends_at_an_error() -> None:
    texts = [f"Text {number} of Ann" for number in range(200)]
    body = "\n".join(json.dumps({"id": number, "text": text} if number % 2 else text) for number, text in enumerate(texts))
    lines = posted(body.encode(), "/predict?labels=Name", NDJSON, queue_texts=100).text.splitlines()
    found = [json.loads(line) for line in lines]
    assert [one["text"] for one in found] == texts and [one.get("id") for one in found[:4]] == [None, 1, None, 3]
    assert {entity["label"] for one in found for entity in one["entities"]} == {"Name"}
    cut = posted(b'"Ann"\n\n"Bob"\n{"txt": "Eve"}\n"Max"\n', headers=NDJSON)
    assert [json.loads(line).get("text") for line in cut.text.splitlines()] == ["Ann", "Bob", None]
    assert json.loads(cut.text.splitlines()[-1]) == {"error": "line 4: text: Field required"}


@pytest.mark.parametrize(
    ("body", "query", "status", "line"),
    [
        (b'"a"', "?model=x", 400, "unknown model 'x'"),
        (b'"a"', "?colour=x", 422, "query: unknown parameter 'colour'"),
        (b'"a"', "?thresholds=x", 422, "query: thresholds is not JSON"),
        (b"x", "", 422, "line 1 is not JSON"),
        (b'"' + b"a" * 2000, "", 413, "a line has at most 1000 bytes"),
        (rb'"\udc00"', "", 400, "line 1: the text has a lone surrogate"),
    ],
)
def test_ndjson_that_is_wrong_from_the_start_has_a_status(body: bytes, query: str, status: int, line: str) -> None:
    answer = posted(body, f"/predict{query}", NDJSON, body_bytes=1000)
    assert answer.status_code == status and answer.json()["error"].startswith(line)


def test_ndjson_stops_reading_when_the_server_stops() -> None:
    service = service_of(StandIn(), ServeSettings())

    async def body() -> Any:
        yield b'"Ann"\n'
        service.stopping.set()
        await asyncio.sleep(5)

    answer = asked(lambda client: client.post("/predict", content=body(), headers=NDJSON), service=service)
    first, last = map(json.loads, answer.text.splitlines())
    assert first["text"] == "Ann" and last["error"].startswith("the server is shutting down")


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_odd_unicode_keeps_its_offsets(texts: list[str]) -> None:
    model = StandIn()
    documents = posted({"texts": texts}, model=model).json()["documents"]
    for text, document in zip(texts, documents, strict=True):
        assert document["text"] == text
        for entity in document["entities"]:
            assert entity["text"] == " ".join(text[start:end] for start, end in entity["fragments"])
        assert len(document["entities"]) == len(model.predict(text).entities)
