"""Runs the application with uvicorn, from the listening socket to a graceful shutdown."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import uvicorn

from anyner.errors import AnynerError
from anyner.inference.recognizer import Recognizer
from anyner.inference.streaming import UnknownWordsWarning
from anyner.serve.annotate import AnnotationFolder
from anyner.serve.app import create_app
from anyner.serve.service import Service
from anyner.serve.settings import ServeSettings

Sources = Mapping[str, Callable[[], Recognizer]]
"""Functions that load the models, by model name."""
_BACKLOG = 2048
_LAST_REQUESTS, _CHECK_EVERY = 0.2, 5.0
"""Seconds: for requests that arrive during shutdown, and between two checks for idle connections."""


def serve(
    sources: Sources,
    settings: ServeSettings,
    listener: socket.socket,
    started: Callable[[], object],
    annotation: AnnotationFolder | None = None,
) -> None:
    """Serves requests on a socket until SIGTERM or SIGINT; `started` is called once all models are loaded."""
    raise_file_limit()
    warnings.simplefilter("ignore", UnknownWordsWarning)  # would print texts of clients; `unknown` is in the answers
    # uvicorn re-raises the signal that stopped it: a requested shutdown is not a failure.
    signal.signal(signal.SIGTERM, lambda *_: None)
    asyncio.run(_run(sources, settings, listener, started, annotation))


async def _run(
    sources: Sources,
    settings: ServeSettings,
    listener: socket.socket,
    started: Callable[[], object],
    annotation: AnnotationFolder | None,
) -> None:
    service = Service(tuple(sources), settings)
    server = Server(service, annotation)

    async def load() -> None:
        try:
            for name, source in sources.items():
                service.add(name, await asyncio.to_thread(source))
            started()
        except BaseException:
            server.should_exit = True
            raise

    loading, watching = asyncio.create_task(load()), asyncio.create_task(server.close_idle())
    try:
        await server.serve(sockets=[listener])
    finally:
        service.close()
        watching.cancel()
        loading.cancel()
        with suppress(asyncio.CancelledError):
            await loading


class Server(uvicorn.Server):
    """uvicorn, with a more graceful shutdown and a timeout for idle connections."""

    def __init__(self, service: Service, annotation: AnnotationFolder | None = None) -> None:
        self._service, self._settings = service, service.settings
        super().__init__(
            uvicorn.Config(
                create_app(service, service.settings, annotation),
                log_level="warning",
                access_log=False,
                lifespan="off",
                server_header=False,
                proxy_headers=False,
                ws="none",
                backlog=_BACKLOG,
                timeout_keep_alive=int(service.settings.idle_seconds),
                timeout_graceful_shutdown=int(service.settings.stop_seconds),
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stops listening, then answers requests in transit: uvicorn alone would close connections with an unread request."""
        self._service.stopping.set()
        for server in self.servers:
            server.close()
        await asyncio.sleep(_LAST_REQUESTS)
        await super().shutdown(sockets)

    async def close_idle(self) -> None:
        """Closes connections that wait too long for a request, or for a client to read an answer; uvicorn checks neither."""
        since: dict[Any, float] = {}
        while True:
            await asyncio.sleep(_CHECK_EVERY)
            now, connections = time.monotonic(), set[Any](self.server_state.connections)
            stuck = {one for one in connections if _idle(one)}
            since = {one: since.get(one, now) for one in stuck}
            for one, first in since.items():
                if now - first > self._settings.idle_seconds:
                    one.transport.abort()


def _idle(connection: Any) -> bool:
    """Whether no request is being answered on a connection."""
    cycle = connection.cycle
    return cycle is None or cycle.response_complete or connection.transport.is_closing()


def listener_on(host: str, port: int) -> socket.socket:
    """A socket bound to this address."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # asyncio disables Nagle's algorithm only if the protocol is given
        listener = socket.socket(family, kind, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise AnynerError(f"cannot listen on {host}:{port}: {error.strerror}") from None
    return listener


def raise_file_limit() -> None:
    """Raises the limit of open files: every connection is one, and most systems allow far more than their default."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
