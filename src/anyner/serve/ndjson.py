"""Bulk prediction: one text per line in, one document per line out, in order, while more lines are read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import Response

from anyner.document import Document
from anyner.errors import AnynerError
from anyner.serve.answers import RefusedError, error_answer, json_bytes, plain, validated
from anyner.serve.gate import NDJSON, Receive, Scope, Send
from anyner.serve.schema import Body, Choices
from anyner.serve.service import Service

_LINES_AT_ONCE, _GROUPS_AHEAD = 64, 4
"""Texts of a client that run together, and how many such groups are in progress at most."""


class TextLine(Body):
    """A line with a text and, optionally, an id."""

    text: str
    id: str | int | None = None


Group = list[tuple[TextLine, Document]]


class _Gone(Exception):  # noqa: N818
    """The client disconnected."""


class NdjsonAnswer(Response):
    """The answer to a body of lines. It begins while the body is still being read, so the client must read while it sends.

    An error before the first answer has its own status; afterwards a line `{"error": …}` ends the answer.
    """

    media_type = NDJSON

    def __init__(self, service: Service, choices: Choices) -> None:
        super().__init__()
        service.call(choices)  # refused before anything is read
        self._service, self._choices = service, choices

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answers: asyncio.Queue[asyncio.Task[bytes] | Exception | None] = asyncio.Queue(_GROUPS_AHEAD)
        try:
            async with asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(self._read(receive, answers, tasks))
                await self._write(scope, receive, send, answers)
                reading.cancel()
        except* _Gone:
            pass

    async def _write(self, scope: Scope, receive: Receive, send: Send, answers: asyncio.Queue[Any]) -> None:
        """Sends answers in the order of their lines."""
        started = False
        while (item := await answers.get()) is not None:
            try:
                if isinstance(item, Exception):
                    raise item
                lines = await item
            except AnynerError as error:
                if not started:
                    await error_answer(error)(scope, receive, send)
                    return
                await send({"type": "http.response.body", "body": json_bytes({"error": str(error)}) + b"\n", "more_body": True})
                break
            if not started:
                await self._start(send)
                started = True
            await send({"type": "http.response.body", "body": lines, "more_body": True})
        if not started:
            await self._start(send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _start(self, send: Send) -> None:
        headers = [(b"content-type", NDJSON.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _read(self, receive: Receive, answers: asyncio.Queue[Any], tasks: asyncio.TaskGroup) -> None:
        """Makes groups of the lines; waits while enough of them are in progress."""
        read = 0
        group: Group = []
        try:
            async for lines in self._groups(receive):
                for number, line in enumerate(lines, read + 1):
                    if line.strip():
                        parsed = _parsed(line, number)
                        group += [(parsed, one) for one in self._service.documents([parsed.text], f"line {number}".format)]
                read += len(lines)
                await self._run(group, answers, tasks)
                group = []
        except AnynerError as error:
            await self._run(group, answers, tasks)  # the lines before the wrong one
            await answers.put(error)
        await answers.put(None)
        while (await receive())["type"] != "http.disconnect":
            pass
        raise _Gone

    async def _run(self, group: Group, answers: asyncio.Queue[Any], tasks: asyncio.TaskGroup) -> None:
        if group:
            await answers.put(tasks.create_task(self._answer(group)))

    async def _answer(self, group: Group) -> bytes:
        found = await self._service.predict([document for _, document in group], self._choices, patient=True)
        named = ({} if line.id is None else {"id": line.id} for line, _ in group)
        return b"".join(json_bytes(name | plain(document)) + b"\n" for name, document in zip(named, found, strict=True))

    async def _groups(self, receive: Receive) -> AsyncIterator[list[bytes]]:
        """Lines that have arrived, a few at a time."""
        rest, more = b"", True
        while more:
            part, more = await self._part(receive)
            *lines, rest = (rest + part).split(b"\n")
            if max(map(len, [rest, *lines])) > self._service.settings.body_bytes:
                raise RefusedError(413, f"a line has at most {self._service.settings.body_bytes} bytes")
            if not more:
                lines.append(rest)
            for first in range(0, len(lines), _LINES_AT_ONCE):
                yield lines[first : first + _LINES_AT_ONCE]

    async def _part(self, receive: Receive) -> tuple[bytes, bool]:
        """The next bytes of the body, and whether there may be more."""
        seconds = self._service.settings.body_seconds
        arriving, stopping = asyncio.ensure_future(receive()), asyncio.ensure_future(self._service.stopping.wait())
        try:
            await asyncio.wait({arriving, stopping}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        if not arriving.done():
            arriving.cancel()
            await asyncio.wait({arriving})
            if self._service.stopping.is_set():
                raise RefusedError(503, "the server is shutting down: send the remaining lines again later", 1)
            raise RefusedError(408, f"the next line did not arrive within {seconds:g} seconds")
        message = arriving.result()
        if message["type"] == "http.disconnect":
            raise _Gone
        return message.get("body", b""), message.get("more_body", False)


def _parsed(line: bytes, number: int) -> TextLine:
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RefusedError(422, f"line {number} is not JSON: {error}") from None
    return validated(TextLine, {"text": parsed} if isinstance(parsed, str) else parsed, f"line {number}: ")
