"""Texts of several requests share batches, the queue is bounded, and no request harms another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any, cast

import pytest
from served import StandIn

from anyner import Document
from anyner.inference.recognizer import Recognizer
from anyner.serve.answers import RefusedError
from anyner.serve.batcher import Batcher, Call
from anyner.serve.metrics import Metrics
from anyner.serve.settings import ServeSettings

CALL = Call(None, {})
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def batcher_of(model: StandIn, threads: int = 1, **limits: Any) -> Batcher:
    return Batcher(cast(Recognizer, model), ServeSettings(**limits), Metrics(), threads)


async def started(batcher: Batcher, *texts: str, call: Call = CALL, **how: Any) -> asyncio.Task[list[Document]]:
    """A request that waits in the queue, or runs."""
    task = asyncio.create_task(batcher.predict([Document(text) for text in texts], call, **how))
    await asyncio.sleep(0)
    return task


async def running(model: StandIn, batcher: Batcher) -> asyncio.Task[list[Document]]:
    """A request that runs until the gate is opened."""
    model.gate.clear()
    model.reached.clear()
    task = await started(batcher, "first")
    await asyncio.to_thread(model.reached.wait)
    return task


async def test_what_waits_runs_together_if_its_settings_are_the_same() -> None:
    model = StandIn()
    batcher = batcher_of(model)
    other = Call("other", {})
    tasks = [await running(model, batcher)]
    tasks += [await started(batcher, text, call=call) for text, call in [("A", CALL), ("B", other), ("C", CALL), ("D", other)]]
    model.gate.set()
    found = await asyncio.gather(*tasks)
    assert [one[0].text for one in found] == ["first", "A", "B", "C", "D"] and model.batches == [1, 2, 2]
    assert batcher.texts == batcher.characters == 0
    batcher.close()


async def test_a_large_request_is_run_in_parts_between_others() -> None:
    model = StandIn()
    batcher = batcher_of(model, batch_characters=10)
    first = await running(model, batcher)
    large, small = await started(batcher, *["abcd"] * 6), await started(batcher, "small")
    done: list[str] = []
    large.add_done_callback(lambda _: done.append("large"))
    small.add_done_callback(lambda _: done.append("small"))
    model.gate.set()
    await asyncio.gather(first, large, small)
    assert model.batches == [1, 2, 1, 2, 2] and done == ["small", "large"]
    batcher.close()


async def test_texts_of_like_length_share_a_batch_and_the_oldest_is_next() -> None:
    model = StandIn()
    batcher = batcher_of(model, batch_characters=40)
    texts = ["a" * length for length in (9, 30, 10, 2, 8, 31, 3)]
    tasks = [await running(model, batcher), *[await started(batcher, text) for text in texts]]
    model.gate.set()
    found = await asyncio.gather(*tasks)
    assert [one[0].text for one in found] == ["first", *texts]
    assert model.batches == [1, 3, 1, 2, 1], "9, 10 and 8; 30; 2 and 3; 31"
    batcher.close()


class Stuck(StandIn):
    """Waits at the gate for the text "first" alone."""

    def stream(self, texts: Iterable[Document], **how: Any) -> Iterator[Document]:
        documents = list(texts)
        if documents[0].text != "first":
            self.batches.append(len(documents))
            return iter(documents)
        return super().stream(documents, **how)


async def test_another_thread_goes_on_while_one_is_in_the_model() -> None:
    model = Stuck()
    batcher = batcher_of(model, threads=2, batch_characters=10)
    first = await running(model, batcher)
    found = await asyncio.gather(*[await started(batcher, *["abcd"] * 5) for _ in range(20)])
    assert [len(one) for one in found] == [5] * 20 and not first.done()
    model.gate.set()
    assert [one.text for one in await first] == ["first"]
    assert sum(model.batches) == 101 and max(model.batches) == 2
    assert batcher.texts == batcher.characters == 0
    batcher.close()


async def test_a_full_queue_refuses_and_a_patient_request_waits() -> None:
    model = StandIn()
    batcher = batcher_of(model, queue_texts=4)
    assert await batcher.predict([], CALL) == []
    first, second = await running(model, batcher), await started(batcher, "a", "b", "c")
    with pytest.raises(RefusedError, match="queue is full") as refused:
        await batcher.predict([Document("d")], CALL)
    assert refused.value.status == 503 and refused.value.headers == {"Retry-After": "1"}
    patient = await started(batcher, "e", patient=True)
    assert batcher.texts == 4
    model.gate.set()
    assert len(await second) == 3 and len(await first) == 1 and (await patient)[0].text == "e"
    batcher.close()


async def test_work_of_a_disconnected_client_is_dropped() -> None:
    model = StandIn()
    batcher = batcher_of(model)
    first = await running(model, batcher)
    waiting = await started(batcher, "never", "run")
    for task in (first, waiting):
        task.cancel()
    await asyncio.wait([first, waiting])
    assert batcher.texts == batcher.characters == 0
    model.gate.set()
    assert (await batcher.predict([Document("next")], CALL))[0].text == "next"
    assert model.batches == [1, 1]
    batcher.close()


async def test_a_request_has_a_time_limit() -> None:
    model = StandIn()
    batcher = batcher_of(model, request_seconds=0.05)
    first = await running(model, batcher)
    with pytest.raises(RefusedError, match=r"not finished within 0\.05 seconds") as late:
        await first
    assert late.value.status == 504 and batcher.texts == 0
    model.gate.set()
    batcher.close()


async def test_a_text_that_breaks_the_model_fails_alone() -> None:
    model = StandIn()
    batcher = batcher_of(model)
    first, good, bad = await running(model, batcher), await started(batcher, "good"), await started(batcher, "Break")
    model.gate.set()
    assert (await first)[0].text == "first" and (await good)[0].text == "good"
    with pytest.raises(RuntimeError, match="broken"):
        await bad
    batcher.close()


class Panic(BaseException):
    """As `tokenizers` raises where it panics."""


class Panicking(StandIn):
    """Panics in the call and in the work."""

    def stream(self, texts: Iterable[Document], **how: Any) -> Iterator[Document]:
        documents = list(texts)
        if any(document.text == "call" for document in documents):
            raise Panic("in the call")
        return self._panicking(super().stream(documents, **how))

    def _panicking(self, found: Iterator[Document]) -> Iterator[Document]:
        for document in found:
            if document.text == "work":
                raise Panic("in the work")
            yield document


async def test_a_panic_fails_one_request_and_leaves_the_threads() -> None:
    batcher = batcher_of(Panicking(), request_seconds=5.0)
    for text in ("call", "work"):
        with pytest.raises(RuntimeError, match=f"^in the {text}$"):
            await batcher.predict([Document(text)], CALL)
    assert (await batcher.predict([Document("next")], CALL))[0].text == "next"
    batcher.close()


async def test_a_wait_collects_texts_and_ends_when_a_batch_is_full() -> None:
    model = StandIn()
    batcher = batcher_of(model, batch_wait=1.0, batch_characters=22)
    async with asyncio.timeout(0.9):  # full long before the wait is over
        await asyncio.gather(*[await started(batcher, "a" * 10), await started(batcher, "b" * 10)])
    assert model.batches == [2]
    batcher.close()
