"""A stand-in for a model, and clients in the same process."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import httpx2

from anyner import Document, Entity
from anyner.architectures.settings import Decoding, HeadConfig, Options
from anyner.errors import AnynerError
from anyner.inference.recognizer import Recognizer
from anyner.overlap import checked_policy
from anyner.serve.app import create_app
from anyner.serve.service import Service
from anyner.serve.settings import ServeSettings

LABELS = ("Name", "Pair")


class StandIn:
    """Finds capitalised words, and pairs of them as discontinuous entities. Waits at `gate`, and fails on the word "Break"."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.reached = threading.Event()
        self.batches: list[int] = []
        self.batch_tokens = 2000
        tuned: dict[str, Any] = {"thresholds": {"score": 0.5}, "calibration": None}
        self.config = SimpleNamespace(labels=LABELS, architecture="stand-in", weights_sha256="f" * 64, **tuned)

    def decoding(
        self,
        options: dict[str, Any] | None = None,
        thresholds: dict[str, float] | None = None,
        overlap: str | None = None,
    ) -> Decoding:
        if unknown := next((name for name in thresholds or {} if name != "score"), None):
            raise AnynerError(f"unknown threshold {unknown!r}")
        chosen = {"score": 0.5, **(thresholds or {})}
        return Decoding(LABELS, chosen, checked_policy(overlap or "all"), HeadConfig(), Options.of(options, "options"))

    def stream(
        self, texts: Iterable[Document], *, progress: Callable[[int], object] = lambda _: None, **chosen: Any
    ) -> Iterator[Document]:
        documents = list(texts)
        self.batches.append(len(documents))
        self.reached.set()
        assert self.gate.wait(20)
        for document in documents:
            if "Break" in document.text:
                raise RuntimeError("broken")
            progress(0)
            yield document.with_entities(self._entities(document.text))

    def _entities(self, text: str) -> list[Entity]:
        spans = [match.span() for match in re.finditer(r"[A-Z]\w*", text)]
        found = [Entity("Name", (span,), 0.75) for span in spans]
        return found + [Entity("Pair", pair, 0.5) for pair in pairwise(spans) if text[pair[0][1] : pair[1][0]].strip()]

    def predict(self, text: str) -> Document:
        return Document(text).with_entities(self._entities(text))


def service_of(model: Any, settings: ServeSettings, name: str = "stand-in") -> Service:
    service = Service((name,), settings)
    service.add(name, cast(Recognizer, model))
    return service


def client_of(service: Service, **headers: str) -> httpx2.AsyncClient:
    transport = httpx2.ASGITransport(create_app(service, service.settings), raise_app_exceptions=False)
    return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers, timeout=30)
