"""Micro-batches: texts of several requests run together, in the one thread that has the model."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from anyner.document import Document
from anyner.inference.recognizer import Recognizer
from anyner.serve.metrics import Metrics
from anyner.serve.refusal import RefusedError
from anyner.serve.settings import ServeSettings

_LONGEST_RETRY = 60


@dataclass(frozen=True, slots=True)
class Call:
    """What `Recognizer.stream` is called with; texts share a batch if their `key` is the same."""

    key: object
    chosen: Mapping[str, Any]


@dataclass(eq=False, slots=True)
class _Job:
    """The texts of one request."""

    documents: Sequence[Document]
    call: Call
    answer: asyncio.Future[list[Document]]
    characters: int
    arrived: float = field(default_factory=time.monotonic)
    taken: int = 0
    """Documents that were given to the model."""
    found: list[Document] = field(default_factory=list)
    dropped: bool = False
    """Nobody waits for the answer any more."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Documents of one job that run together with those of others."""

    job: _Job
    first: int
    documents: Sequence[Document]


class _NobodyWaitsError(Exception):
    """Ends a batch whose answers nobody waits for."""


class Batcher:
    """A bounded queue in front of one model.

    Everything but the work itself happens in the event loop. A request of many texts is run in parts, and others have their turn
    between two of them.
    """

    def __init__(self, recognizer: Recognizer, settings: ServeSettings, metrics: Metrics) -> None:
        self.recognizer = recognizer
        self.texts = self.characters = 0
        """Of jobs that wait or run."""
        self._settings, self._metrics = settings, metrics
        self._changed = threading.Condition()  # guards the two below
        self._waiting: dict[_Job, None] = {}  # in the order of their turns
        self._closed = False
        self._freed = asyncio.Event()
        self._speed = 0.0  # characters a second, of the last batches
        self._thread = threading.Thread(target=self._work, name="model", daemon=True)
        self._thread.start()

    async def predict(self, documents: Sequence[Document], call: Call, *, patient: bool = False) -> list[Document]:
        """The documents with their entities. With a full queue a request is refused, and a patient one waits."""
        characters = sum(len(document.text) for document in documents)
        if patient:
            await self._room(len(documents), characters)
        elif not self._fits(len(documents), characters, 1.0):
            raise RefusedError(503, "the queue is full: try again later", self.retry_after)
        job = _Job(documents, call, asyncio.get_running_loop().create_future(), characters)
        self.texts += len(documents)
        self.characters += characters
        try:
            with self._changed:
                self._waiting[job] = None
                self._changed.notify()
            async with asyncio.timeout(self._settings.request_seconds):
                return await job.answer
        except TimeoutError:
            raise RefusedError(504, f"not finished within {self._settings.request_seconds:g} seconds") from None
        finally:
            job.dropped = True
            with self._changed:
                self._waiting.pop(job, None)
            self.texts -= len(documents)
            self.characters -= characters
            self._freed.set()

    @property
    def retry_after(self) -> int:
        """Seconds until most of what waits will have run."""
        return min(_LONGEST_RETRY, 1 + int(self.characters / self._speed)) if self._speed else 1

    def close(self) -> None:
        """Ends the thread once nothing waits."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _fits(self, texts: int, characters: int, share: float) -> bool:
        settings = self._settings
        few = self.texts + texts <= settings.queue_texts * share
        short = self.characters + characters <= settings.queue_characters * share
        return (few and short) or not self.texts

    async def _room(self, texts: int, characters: int) -> None:
        """Waits for room in half of the queue: bulk work leaves the other half to requests that cannot wait."""
        while not self._fits(texts, characters, 0.5):
            self._freed.clear()
            await self._freed.wait()

    def _work(self) -> None:
        while parts := self._next():
            self._run(parts)

    def _next(self) -> list[_Part]:
        """What runs next; nothing once the batcher is closed."""
        wait = self._settings.batch_wait
        with self._changed:
            while not self._closed:
                if not self._waiting:
                    self._changed.wait()
                    continue
                left = next(iter(self._waiting)).arrived + wait - time.monotonic() if wait else 0.0
                if left <= 0 or sum(job.characters for job in self._waiting) >= self._settings.batch_characters:
                    break
                self._changed.wait(left)
            return list(self._take())

    def _take(self) -> Iterator[_Part]:
        """Documents of the oldest job and of others with the same settings, as many as fit a batch."""
        left = self._settings.batch_characters
        key = next((job.call.key for job in self._waiting), None)
        for job in [job for job in self._waiting if job.call.key == key]:
            first = job.taken
            while job.taken < len(job.documents) and left > 0:
                left -= len(job.documents[job.taken].text) + 1
                job.taken += 1
            yield _Part(job, first, job.documents[first : job.taken])
            del self._waiting[job]
            if job.taken < len(job.documents):
                self._waiting[job] = None  # behind the others
            if left <= 0:
                break

    def _run(self, parts: Sequence[_Part]) -> None:
        """Runs a batch. Each job is answered as soon as its last document is found, while the model goes on with the others."""

        def go_on(_: int) -> None:
            if all(part.job.dropped for part in parts):
                raise _NobodyWaitsError

        started = time.perf_counter()
        documents = [document for part in parts for document in part.documents]
        found = self.recognizer.stream(documents, progress=go_on, **parts[0].job.call.chosen)
        done = 0
        try:
            for part in parts:
                part.job.found += islice(found, len(part.documents))
                done += 1
                if len(part.job.found) == len(part.job.documents):
                    self._settle(part.job, None)
        except _NobodyWaitsError:
            return
        except Exception as error:
            if len(parts) == 1:
                self._settle(parts[0].job, error)
                return
            for part in parts[done:]:  # one of them must not fail the others
                del part.job.found[part.first :]
                self._run([part])
            return
        seconds = time.perf_counter() - started
        speed = sum(len(document.text) for document in documents) / seconds
        self._speed = 0.8 * self._speed + 0.2 * speed if self._speed else speed
        self._metrics.batch(len(documents), seconds)

    def _settle(self, job: _Job, error: Exception | None) -> None:
        """Hands an answer to the event loop."""

        def answer() -> None:
            if job.answer.done():
                return
            if error is None:
                job.answer.set_result(job.found)
            else:
                job.answer.set_exception(error)

        loop = job.answer.get_loop()
        if not loop.is_closed():
            loop.call_soon_threadsafe(answer)
