"""Micro-batches: texts of several requests run together, in the model's threads."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anyner.document import Document
from anyner.errors import first_line
from anyner.inference.recognizer import Recognizer
from anyner.serve.answers import RefusedError
from anyner.serve.metrics import Metrics
from anyner.serve.settings import ServeSettings

THREADS = 2
"""While one waits for the model, which runs outside Python, the other tokenizes and decodes, and HTTP gets its turn."""
_LONGEST_RETRY = 60
_CHARACTERS_PER_TOKEN = 4
"""Approximately, in most languages."""


@dataclass(frozen=True, slots=True)
class Call:
    """Arguments of `Recognizer.stream`; texts may share a batch if their `key` is the same."""

    key: object
    chosen: Mapping[str, Any]


@dataclass(eq=False, slots=True)
class _Job:
    """The texts of one request."""

    documents: Sequence[Document]
    call: Call
    answer: asyncio.Future[list[Document]]
    characters: int
    waiting: dict[int, Document]
    """Documents that were not yet given to the model, by index."""
    arrived: float = field(default_factory=time.monotonic)
    found: dict[int, Document] = field(default_factory=dict)
    dropped: bool = False
    """The client no longer waits for the answer."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A document of a job, with its index."""

    job: _Job
    place: int
    document: Document


class _AbandonedError(Exception):
    """Ends a batch if no client waits for its answers."""


class Batcher:
    """A bounded queue in front of one model.

    Everything but prediction runs in the event loop. Each batch has the next text of the request whose turn it is, and the texts
    of all requests that are closest to it in length: they need the least padding.
    """

    def __init__(self, recognizer: Recognizer, settings: ServeSettings, metrics: Metrics, threads: int = THREADS) -> None:
        self.recognizer = recognizer
        self.texts = self.characters = 0
        """Totals of the jobs that wait or run."""
        self._settings, self._metrics = settings, metrics
        self._batch = settings.batch_characters or _CHARACTERS_PER_TOKEN * recognizer.batch_tokens
        self._changed = threading.Condition()  # guards the two below
        self._waiting: dict[_Job, None] = {}  # in the order of their turns
        self._closed = False
        self._freed = asyncio.Event()
        self._speed = 0.0  # characters a second, of the last batches
        for _ in range(threads):
            threading.Thread(target=self._work, name="model", daemon=True).start()

    async def predict(self, documents: Sequence[Document], call: Call, *, patient: bool = False) -> list[Document]:
        """The documents with their entities. If the queue is full, a patient request waits; others are refused."""
        characters = sum(len(document.text) for document in documents)
        if not documents:
            return []
        if patient:
            await self._room(len(documents), characters)
        elif not self._fits(len(documents), characters, 1.0):
            raise RefusedError(503, "the queue is full: try again later", self.retry_after)
        job = _Job(documents, call, asyncio.get_running_loop().create_future(), characters, dict(enumerate(documents)))
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
        """Estimated seconds until the queue has been processed."""
        return min(_LONGEST_RETRY, 1 + int(self.characters / self._speed)) if self._speed else 1

    def close(self) -> None:
        """Ends the threads once the queue is empty."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _fits(self, texts: int, characters: int, share: float) -> bool:
        settings = self._settings
        few = self.texts + texts <= settings.queue_texts * share
        short = self.characters + characters <= settings.queue_characters * share
        return (few and short) or not self.texts

    async def _room(self, texts: int, characters: int) -> None:
        """Waits for room in half of the queue: bulk requests leave the other half to those that cannot wait."""
        while not self._fits(texts, characters, 0.5):
            self._freed.clear()
            await self._freed.wait()

    def _work(self) -> None:
        while texts := self._next():
            self._run(texts)

    def _next(self) -> list[_Text]:
        """The next batch; empty once the batcher is closed."""
        wait = self._settings.batch_wait
        with self._changed:
            while not self._closed:
                if not self._waiting:
                    self._changed.wait()
                    continue
                left = next(iter(self._waiting)).arrived + wait - time.monotonic() if wait else 0.0
                if left <= 0 or sum(job.characters + len(job.documents) for job in self._waiting) >= self._batch:
                    break
                self._changed.wait(left)
            taken = self._take() if self._waiting else []
            if self._waiting:
                self._changed.notify()  # there is work for another thread as well
            return taken

    def _take(self) -> list[_Text]:
        """A batch, in the order in which its texts arrived."""
        job = next(iter(self._waiting))
        length = len(next(iter(job.waiting.values())).text)
        others = (one for one in self._waiting if one.call.key == job.call.key)
        waiting = [_Text(one, place, document) for one in others for place, document in one.waiting.items()]
        # a stable sort: the job's own text stays before others of its length
        ordered = sorted(range(len(waiting)), key=lambda number: abs(len(waiting[number].document.text) - length))
        taken, longest = list[int](), 0
        for number in ordered:
            longest = max(longest, len(waiting[number].document.text) + 1)
            if taken and longest * (len(taken) + 1) > self._batch:
                break
            taken.append(number)
        chosen = [waiting[number] for number in sorted(taken)]
        for text in chosen:
            del text.job.waiting[text.place]
        del self._waiting[job]
        self._waiting[job] = None  # behind the others
        self._waiting = {one: None for one in self._waiting if one.waiting}
        return chosen

    def _run(self, texts: Sequence[_Text]) -> None:
        """Runs a batch. Each job is answered as soon as its last document is found, while the model continues with the others."""

        def check_clients(_: int) -> None:
            if all(text.job.dropped for text in texts):
                raise _AbandonedError

        started = time.perf_counter()
        done = 0
        try:
            found = self.recognizer.stream([text.document for text in texts], progress=check_clients, **texts[0].job.call.chosen)
            for text, document in zip(texts, found, strict=True):
                text.job.found[text.place] = document
                done += 1
                if len(text.job.found) == len(text.job.documents):
                    self._settle(text.job, None)
        except _AbandonedError:
            return
        except BaseException as error:  # a Rust panic is not an Exception, and must not end the thread either
            if len(texts) == 1:
                self._settle(texts[0].job, error if isinstance(error, Exception) else RuntimeError(first_line(error)))
                return
            for text in texts[done:]:  # one by one: a bad text must not fail the others
                self._run([text])
            return
        seconds = time.perf_counter() - started
        speed = sum(len(text.document.text) for text in texts) / seconds
        self._speed = 0.8 * self._speed + 0.2 * speed if self._speed else speed
        self._metrics.batch(len(texts), seconds)

    def _settle(self, job: _Job, error: Exception | None) -> None:
        """Hands an answer to the event loop."""

        def answer() -> None:
            if job.answer.done():
                return
            if error is None:
                job.answer.set_result([job.found[place] for place in range(len(job.documents))])
            else:
                job.answer.set_exception(error)

        loop = job.answer.get_loop()
        if not loop.is_closed():
            loop.call_soon_threadsafe(answer)
