"""On real sockets: slow, idle and disconnected clients do not affect others, and a shutdown finishes accepted requests."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import pytest
from served import StandIn, service_of
from typer.testing import CliRunner

from anyner.cli.main import app
from anyner.errors import AnynerError
from anyner.serve import server as module
from anyner.serve.server import Server, listener_on
from anyner.serve.service import Service
from anyner.serve.settings import ServeSettings

STOPPED = """
import sys, time
from served import StandIn
from anyner.serve.server import listener_on, serve
from anyner.serve.settings import ServeSettings

class Slow(StandIn):
    def stream(self, texts, **chosen):
        time.sleep(0.7)
        return super().stream(texts, **chosen)

listener = listener_on("127.0.0.1", 0)
serve({"slow": Slow}, ServeSettings(), listener, lambda: print(listener.getsockname()[1], flush=True))
"""


@dataclass(frozen=True)
class Running:
    model: StandIn
    service: Service
    server: Server
    port: int

    def connect(self, sent: bytes = b"") -> socket.socket:
        one = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        one.sendall(sent)
        return one


def request(text: str, close: bool = True) -> bytes:
    body = json.dumps({"texts": text}).encode()
    head = f"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + (b"Connection: close\r\n" if close else b"") + b"\r\n" + body


def read_all(one: socket.socket) -> bytes:
    with one:
        return b"".join(iter(lambda: one.recv(65_536), b""))


def eventually(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    """A server in a thread of this process, with short timeouts."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_CHECK_EVERY", 0.05)
        model, listener = StandIn(), listener_on("127.0.0.1", 0)
        service = service_of(model, ServeSettings(body_seconds=0.5, idle_seconds=1.0))
        server = Server(service)

        async def serve() -> None:
            watching = asyncio.create_task(server.close_idle())
            await server.serve(sockets=[listener])
            watching.cancel()

        thread = threading.Thread(target=asyncio.run, args=(serve(),))
        thread.start()
        eventually(lambda: server.started)
        yield Running(model, service, server, listener.getsockname()[1])
        server.should_exit = True
        thread.join(10)
        service.close()
        assert not thread.is_alive()


def test_slow_bodies_and_idle_connections_end_and_block_no_one(running: Running) -> None:
    head = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    slow = [running.connect(head) for _ in range(20)]
    idle = [running.connect() for _ in range(100)] + [running.connect(b"GET /hea") for _ in range(20)]
    assert b'"Ann"' in read_all(running.connect(request("Ann")))
    assert all(read_all(one).startswith(b"HTTP/1.1 408 ") for one in slow)
    assert all(read_all(one) in {b"", b"Invalid HTTP request received."} for one in idle)
    eventually(lambda: not running.server.server_state.connections)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_client_that_sends_a_large_body_before_it_reads_gets_the_refusal(running: Running, chunked: bool) -> None:
    content = b" " * 12_000_000
    for _ in range(3):
        connection = HTTPConnection("127.0.0.1", running.port)
        connection.request(
            "POST",
            "/predict",
            iter([content]) if chunked else content,
            {"Content-Type": "application/json"},
            encode_chunked=chunked,
        )
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (413, b'{"error":"a body has at most 4000000 bytes"}')
        connection.close()


def test_a_disconnected_client_leaves_nothing_behind(running: Running) -> None:
    running.model.gate.clear()
    running.model.reached.clear()
    clients = [running.connect(request(f"Gone {number}")) for number in range(10)]
    running.model.reached.wait(10)
    eventually(lambda: running.service.queued == {"stand-in": 10})
    for one in clients:
        one.close()
    eventually(lambda: running.service.queued == {"stand-in": 0} and not running.server.server_state.tasks)
    running.model.gate.set()
    assert b'"Ann"' in read_all(running.connect(request("Ann")))
    eventually(lambda: not running.server.server_state.connections)


def test_lines_are_answered_while_more_are_sent(running: Running) -> None:
    head = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    with running.connect(head) as one:
        for word in (b"Ann", b"Bob"):
            line = b'"' + word + b'"\n'
            one.sendall(b"%x\r\n%s\r\n" % (len(line), line))
            answer = b""
            while b'"entities"' not in answer:
                answer += one.recv(65_536)
            assert word in answer


def test_a_stop_finishes_what_was_accepted() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED], cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        clients = []
        for number in range(8):
            clients.append(socket.create_connection(("127.0.0.1", port), timeout=20))
            clients[-1].sendall(request(f"Text {number}", close=False))
        time.sleep(0.2)  # the first runs, the others wait
        process.send_signal(signal.SIGTERM)
        answers = [read_all(one) for one in clients]
        assert all(one.startswith(b"HTTP/1.1 200") and f"Text {number}".encode() in one for number, one in enumerate(answers))
        assert process.wait(10) == 0
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1)


def test_what_cannot_be_served_is_reported_in_one_line() -> None:
    listener = listener_on("127.0.0.1", 0)
    listener.listen()
    port = listener.getsockname()[1]
    with pytest.raises(AnynerError, match=rf"^cannot listen on 127\.0\.0\.1:{port}: Address already in use$"):
        listener_on("127.0.0.1", port)
    listener.close()
    for arguments, line in [
        (["missing"], "anyner: cannot find model missing: no such folder; bundled models: biomed-en, general-en\n"),
        (["general-en", "general-en"], "anyner: general-en: two models are called 'general-en'; write NAME=general-en\n"),
        (["=general-en"], "anyner: =general-en: write NAME=MODEL\n"),
    ]:
        result = CliRunner().invoke(app, ["serve", *arguments])
        assert (result.exit_code, result.stderr) == (1, line)
