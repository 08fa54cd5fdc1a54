"""The checks of every request before its route: host, key, and a body of limited size that arrives in time."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import suppress
from typing import Any

from anyner.errors import printable
from anyner.serve.answers import RefusedError, error_answer
from anyner.serve.metrics import Metrics
from anyner.serve.settings import ServeSettings

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN_PATHS = frozenset({"/health", "/ready"})
"""Paths of health checks, which send no key."""
NDJSON = "application/x-ndjson"
NDJSON_PATH = "/predict"
"""The only route that reads NDJSON."""


class _UnreadError(Exception):
    """The client does not read its answer."""


class Gate:
    """ASGI middleware. The routes behind it get complete bodies, except for NDJSON, which they read themselves."""

    def __init__(self, app: App, settings: ServeSettings, metrics: Metrics) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics
        self._held = 0  # bytes of bodies that are being read or answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            try:
                async with asyncio.timeout(self._settings.idle_seconds):  # a client that does not read holds its answer in memory
                    await send(message)
            except TimeoutError:
                raise _UnreadError from None

        try:
            await self._admitted(scope, receive, counted)
        except* _UnreadError:  # alone, or in the group of NDJSON's tasks
            pass
        finally:
            path = getattr(scope.get("route"), "path", "other")
            self._metrics.request(path, status, time.perf_counter() - started)

    async def _admitted(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        held, parts = 0, parts_of(receive)
        try:
            self._check_host(headers)
            self._check_key(scope["path"], headers)
            if scope["path"] == NDJSON_PATH and media_type(scope["headers"]) == NDJSON:
                await self._app(scope, receive, send)
                return
            if int(headers.get(b"content-length", b"0")) > self._settings.body_bytes:
                raise self._too_large()
            body = b""
            if has_body(headers):
                async with asyncio.timeout(self._settings.body_seconds):
                    body = await self._body(parts)
            held = len(body)
        except TimeoutError:
            late = RefusedError(408, f"the body did not arrive within {self._settings.body_seconds:g} seconds")
            await refuse(scope, receive, send, late)
            return
        except RefusedError as refusal:
            if has_body(headers) and b"expect" not in headers:
                await self._drain(parts)
            await refuse(scope, receive, send, refusal)
            return
        try:
            await self._app(scope, replayed(body, receive), send)
        finally:
            self._held -= held

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        name = host_name(headers.get(b"host", b"").decode("latin-1"))
        if self._settings.hosts and name not in self._settings.hosts:
            raise RefusedError(400, f"unknown host {printable(name)!r}: to serve other machines, start the server with --host")

    def _check_key(self, path: str, headers: dict[bytes, bytes]) -> None:
        key = self._settings.key
        if key is None or path in OPEN_PATHS:
            return
        if not hmac.compare_digest(given_key(headers.get(b"authorization", b"")), key.encode()):
            raise RefusedError(401, "this server needs a key: send Authorization: Bearer KEY")

    def _too_large(self) -> RefusedError:
        return RefusedError(413, f"a body has at most {self._settings.body_bytes} bytes")

    async def _body(self, parts: AsyncIterator[bytes]) -> bytes:
        """The whole body; its bytes are counted until the request is answered."""
        body, size = list[bytes](), 0
        try:
            async for part in parts:
                body.append(part)
                size += len(part)
                self._held += len(part)
                if size > self._settings.body_bytes:
                    raise self._too_large()
                if self._held > self._settings.all_bodies_bytes:
                    raise RefusedError(503, "too many large bodies at once: try again later", 1)
            return b"".join(body)
        except BaseException:
            self._held -= size
            raise

    async def _drain(self, parts: AsyncIterator[bytes]) -> None:
        """Drops the rest of a refused body, up to a limit: most clients read no answer before they have sent all of it."""
        size = 0
        with suppress(TimeoutError, RefusedError):
            async with asyncio.timeout(self._settings.body_seconds):
                async for part in parts:
                    size += len(part)
                    if size > self._settings.all_bodies_bytes:
                        return


async def parts_of(receive: Receive) -> AsyncIterator[bytes]:
    """A body, part by part."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RefusedError(400, "the body is incomplete")
        more = message.get("more_body", False)
        yield message.get("body", b"")


def has_body(headers: dict[bytes, bytes]) -> bool:
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"


def media_type(headers: Sequence[tuple[bytes, bytes]]) -> str:
    """The media type of a body; empty if a request has several, as the gate and a route must not read different ones.

    >>> media_type([(b"content-type", b"Application/JSON; charset=utf-8")])
    'application/json'
    """
    given = [value for name, value in headers if name == b"content-type"]
    return given[0].decode("latin-1").partition(";")[0].strip().lower() if len(given) == 1 else ""


def host_name(host: str) -> str:
    """The name in a Host header, without its port.

    >>> host_name("localhost:8000"), host_name("[::1]:8000")
    ('localhost', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def given_key(authorization: bytes) -> bytes:
    """The key of a Bearer header, or the password of a Basic one, which browsers and Label Studio send."""
    scheme, _, value = authorization.partition(b" ")
    if scheme.lower() == b"bearer":
        return value.strip()
    if scheme.lower() == b"basic":
        try:
            return base64.b64decode(value, validate=True).partition(b":")[2]
        except binascii.Error:
            return b""
    return b""


def replayed(body: bytes, receive: Receive) -> Receive:
    """Receives the body that was read, then whatever comes after it."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def refuse(scope: Scope, receive: Receive, send: Send, refusal: RefusedError) -> None:
    """The answer to a request that is refused, perhaps before its body was read. The connection cannot be reused."""
    answer = error_answer(refusal)
    answer.headers["Connection"] = "close"
    if refusal.status == 401:
        answer.headers["WWW-Authenticate"] = 'Basic realm="anyner"'
    await answer(scope, receive, send)
