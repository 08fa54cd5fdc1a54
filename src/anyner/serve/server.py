"""Runs the application with uvicorn: from the first socket to a stop that finishes what was accepted."""

from __future__ import annotations

import asyncio
import signal
import socket
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress

import uvicorn

from anyner.errors import AnynerError
from anyner.inference.recognizer import Recognizer
from anyner.inference.streaming import UnknownWordsWarning
from anyner.serve.app import create_app
from anyner.serve.service import Service
from anyner.serve.settings import ServeSettings

Sources = Mapping[str, Callable[[], Recognizer]]
"""Models by name, each with what loads it."""
_BACKLOG = 2048


def serve(
    sources: Sources,
    settings: ServeSettings,
    listener: socket.socket,
    started: Callable[[], object],
) -> None:
    """Answers on a socket until SIGTERM or SIGINT; `started` is called once all models are loaded."""
    raise_file_limit()
    warnings.simplefilter("ignore", UnknownWordsWarning)  # would print texts of clients; `unknown` is in the answers
    service = Service(tuple(sources), settings)
    config = uvicorn.Config(
        create_app(service, settings),
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=int(settings.stop_seconds),
    )
    server = uvicorn.Server(config)
    # uvicorn raises the signal that stopped it once more: a stop that was asked for is no failure.
    signal.signal(signal.SIGTERM, lambda *_: None)
    asyncio.run(_run(server, service, sources, listener, started))


async def _run(
    server: uvicorn.Server, service: Service, sources: Sources, listener: socket.socket, started: Callable[[], object]
) -> None:
    async def load() -> None:
        for name, source in sources.items():
            service.add(name, await asyncio.to_thread(source))
        started()

    async def load_or_stop() -> None:
        try:
            await load()
        except BaseException:
            server.should_exit = True
            raise

    loading = asyncio.create_task(load_or_stop())
    try:
        await server.serve(sockets=[listener])
    finally:
        service.close()
        loading.cancel()
        with suppress(asyncio.CancelledError):
            await loading


def listener_on(host: str, port: int) -> socket.socket:
    """A socket that listens there."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise AnynerError(f"cannot listen on {host}:{port}: {error.strerror}") from None


def raise_file_limit() -> None:
    """Every connection is an open file; most systems allow far more of them than they give at first."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
