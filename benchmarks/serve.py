"""Load tests of `anyner serve` and the overhead of HTTP: a real server, with its clients in a process of their own.

python benchmarks/serve.py
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any
from urllib.request import urlopen

import psutil
from script import RESULTS, ROOT, header, parser_of, run, write_result

import anyner
from anyner.corpora.synthetic import synthetic
from anyner.errors import AnynerError
from anyner.serve.server import raise_file_limit

MODEL = "general-en"
_PIP = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
Answers = list[tuple[int, str]]
"""Status and body of each response; status 0: no response."""


@dataclass(frozen=True, slots=True)
class Running:
    process: psutil.Process
    port: int

    def metric(self, name: str) -> float:
        text = urlopen(f"http://127.0.0.1:{self.port}/metrics").read().decode()
        return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if re.match(rf"{name}[ {{]", line))

    @property
    def megabytes(self) -> float:
        return round(self.process.memory_info().rss / 1e6, 1)


@contextmanager
def server(threads: int) -> Iterator[Running]:
    command = [sys.executable, "-m", "anyner", "serve", MODEL, "--port", "0", "--threads", str(threads)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield Running(
                psutil.Process(process.pid), int(process.stderr.readline().rpartition(" on ")[2].split(":")[2].split()[0])
            )
        finally:
            process.terminate()


def texts_of(number: int) -> list[str]:
    return [document.text for document in synthetic(number, contiguous=True).documents]


def request_of(texts: str | Sequence[str]) -> bytes:
    body = json.dumps({"texts": texts}).encode()
    head = f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def ask(streams: tuple[asyncio.StreamReader, asyncio.StreamWriter], request: bytes) -> tuple[int, str]:
    reader, writer = streams
    try:
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        body = await reader.readexactly(int(head.split("content-length:")[1].split("\r\n")[0]))
        return int(head.split()[1]), body.decode()
    except (OSError, asyncio.IncompleteReadError):
        return 0, ""


async def all_answers(port: int, requests: Sequence[bytes], connections: int) -> Answers:
    """Each connection sends the next request as soon as it has a response."""
    waiting, answers = list(enumerate(requests)), dict[int, tuple[int, str]]()

    async def client() -> None:
        streams = await asyncio.open_connection("127.0.0.1", port)
        while waiting:
            number, request = waiting.pop()
            answers[number] = await ask(streams, request)
        streams[1].close()

    await asyncio.gather(*(client() for _ in range(connections)))
    return [answers[number] for number in range(len(requests))]


def answered(port: int, requests: Sequence[bytes], connections: int) -> tuple[Answers, float]:
    began = time.perf_counter()
    return asyncio.run(all_answers(port, requests, connections)), time.perf_counter() - began


def in_process(work: Callable[..., Any], *arguments: Any) -> Any:
    """Runs the clients in a process of their own, neither the server nor this one."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def plain(document: anyner.Document) -> dict[str, Any]:
    return {key: value for key, value in document.to_json().items() if key != "id"}


def many_requests(number: int, connections: int, different: int, threads: int) -> dict[str, Any]:
    """Sends many requests and compares every response with `predict`."""
    texts = texts_of(different)
    chosen = [texts[place % different] for place in range(number)]
    with server(threads) as running:
        answers, seconds = in_process(answered, running.port, [request_of(text) for text in chosen], connections)
    model = anyner.load(MODEL, device="cpu", threads=threads)
    expected = {text: {"model": MODEL, "documents": [plain(model.predict(text))]} for text in texts}
    asked = zip(answers, chosen, strict=True)
    return {
        "requests": number,
        "connections": connections,
        "different_texts": different,
        "lost": sum(status != 200 for status, _ in answers),
        "unlike_predict": sum(status == 200 and json.loads(body) != expected[text] for (status, body), text in asked),
        "seconds": round(seconds, 1),
    }


def flood(port: int, connections: int, texts: Sequence[str], seconds: float) -> dict[str, int]:
    """Sends far more requests than the queue holds, then disconnects."""

    async def flooded() -> dict[str, int]:
        counts = {"full": 0, "answered": 0, "other": 0}

        async def client() -> None:
            while True:
                streams = await asyncio.open_connection("127.0.0.1", port)
                status, _ = await ask(streams, request_of(texts))
                counts[{503: "full", 200: "answered"}.get(status, "other")] += 1
                streams[1].close()
                await asyncio.sleep(0.01)

        tasks = [asyncio.create_task(client()) for _ in range(connections)]
        await asyncio.sleep(seconds)
        for task in tasks:
            task.cancel()
        return counts

    return asyncio.run(flooded())


def full_queue(threads: int) -> dict[str, Any]:
    """Memory after each of several floods, and what disconnected clients leave behind."""
    texts = texts_of(1000)
    with server(threads) as running:
        in_process(answered, running.port, [request_of(text) for text in texts[:50]], 4)
        memory, full, files = [running.megabytes], 0, running.process.num_fds()
        for _ in range(4):
            counts = in_process(flood, running.port, 64, texts, 4.0)
            full += counts["full"]
            deadline = time.monotonic() + 30
            while running.metric("anyner_queued_texts") and time.monotonic() < deadline:
                time.sleep(0.2)
            memory.append(running.megabytes)
        return {
            "refused_with_503": full,
            "other_failures": counts["other"],
            "megabytes_before_and_after_each": memory,
            "growth_after_the_first_megabytes": round(memory[-1] - memory[1], 1),
            "texts_left_in_the_queue": running.metric("anyner_queued_texts"),
            "files_left_open": running.process.num_fds() - files,
        }


def stopped_under_load(port: int, pid: int, connections: int, texts: Sequence[str]) -> int:
    """The number of requests sent before the signal that got no response."""

    async def asked() -> int:
        streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(connections)]
        tasks = [asyncio.create_task(ask(one, request_of(texts))) for one in streams]
        await asyncio.sleep(0.5)
        os.kill(pid, signal.SIGTERM)
        return sum(status != 200 for status, _ in await asyncio.gather(*tasks))

    return asyncio.run(asked())


def stop(threads: int) -> dict[str, Any]:
    with server(threads) as running:
        dropped = in_process(stopped_under_load, running.port, running.process.pid, 64, texts_of(10))
        return {"requests": 64, "texts_each": 10, "dropped": dropped, "exit_code": running.process.wait(60)}


def patience(port: int, idle: int, slow: int, seconds: float) -> int:
    """Opens idle connections and ones with unfinished bodies; returns how many could be opened."""
    raise_file_limit()

    async def opened() -> int:
        head = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{"
        held = list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]()
        while len(held) < idle + slow:
            held += await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(100)))
        for _, writer in held[-slow:]:
            writer.write(head)
        await asyncio.sleep(seconds)
        return len(held)

    return asyncio.run(opened())


def slow_clients(idle: int, slow: int, threads: int) -> dict[str, Any]:
    texts = texts_of(50)
    requests = [request_of(text) for text in texts]
    with server(threads) as running, multiprocessing.get_context("spawn").Pool(1) as pool:
        raise_file_limit()
        _, before = answered(running.port, requests, 1)
        holding = pool.apply_async(patience, (running.port, idle, slow, 10.0))
        deadline = time.monotonic() + 60
        while running.process.num_fds() < idle + slow and time.monotonic() < deadline:
            time.sleep(0.1)
        files = running.process.num_fds()
        if files < idle + slow:
            raise AnynerError(f"only {files} of {idle + slow} connections are open after a minute: nothing to measure yet")
        answers, during = answered(running.port, requests, 1)
        return {
            "idle_connections": idle,
            "slow_bodies": slow,
            "open_files_of_the_server": files,
            "lost": sum(status != 200 for status, _ in answers),
            "seconds_for_50_requests_before": round(before, 2),
            "seconds_for_50_requests_during": round(during, 2),
            "opened": holding.get(90),
        }


def throughput(number: int, each: int, connections: int, rounds: int, threads: int) -> dict[str, Any]:
    """Serves and streams in turn, so that a busy machine slows down both, and measures CPU time, which does not depend on it."""
    texts = texts_of(number)
    requests = [request_of(texts[first : first + each]) for first in range(0, number, each)]
    model = anyner.load(MODEL, device="cpu", threads=threads)
    list(model.stream(texts))
    wall, cpu = list[tuple[float, float]](), list[tuple[float, float]]()
    with server(threads) as running:
        in_process(answered, running.port, requests, connections)  # warm-up: words seen before are tokenized faster
        for _ in range(rounds):
            before = sum(running.process.cpu_times()[:2])
            answers, seconds = in_process(answered, running.port, requests, connections)
            used = sum(running.process.cpu_times()[:2]) - before
            assert all(status == 200 for status, _ in answers)
            began, began_cpu = time.perf_counter(), time.process_time()
            list(model.stream(texts))
            wall.append((seconds, time.perf_counter() - began))
            cpu.append((used, time.process_time() - began_cpu))
    return {
        "texts": number,
        "texts_each": each,
        "connections": connections,
        "threads": threads,
        "served_texts_a_second": round(number / median(one for one, _ in wall), 1),
        "streamed_texts_a_second": round(number / median(one for _, one in wall), 1),
        "ratio": round(median(other / one for one, other in wall), 3),
        "ratios": [round(other / one, 3) for one, other in wall],
        "served_cpu_milliseconds_a_text": round(1000 * median(one for one, _ in cpu) / number, 2),
        "streamed_cpu_milliseconds_a_text": round(1000 * median(one for _, one in cpu) / number, 2),
    }


def overhead(number: int) -> dict[str, Any]:
    """Single requests: each text is served and predicted in turn, in two processes."""
    texts, waited, ran = texts_of(number), list[float](), list[float]()
    model = anyner.load(MODEL, device="cpu", threads=1)

    async def timed(running: Running) -> None:
        streams = await asyncio.open_connection("127.0.0.1", running.port)
        for text in [*texts[:20], *texts]:  # the first ones warm both up
            request, began = request_of(text), time.perf_counter()
            status, _ = await ask(streams, request)
            waited.append(time.perf_counter() - began)
            began = time.perf_counter()
            model.predict(text)
            ran.append(time.perf_counter() - began)
            assert status == 200

    with server(1) as running:
        asyncio.run(timed(running))
    return {
        "requests": number,
        "http_milliseconds": round(1000 * median(waited[20:]), 2),
        "predict_milliseconds": round(1000 * median(ran[20:]), 2),
        "added_milliseconds": round(1000 * median(one - other for one, other in zip(waited[20:], ran[20:], strict=True)), 2),
    }


def schema_run(examples: int) -> dict[str, Any]:
    """Requests generated from the OpenAPI schema. A valid one may name labels that the model lacks: that check is left out."""
    with server(1) as running:
        url = f"http://127.0.0.1:{running.port}/openapi.json"
        options = ["--max-examples", str(examples), "--exclude-checks", "positive_data_acceptance", "--no-color", "--seed", "1"]
        command = [str(Path(sys.executable).parent / "schemathesis"), "run", url, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    cases = re.search(r"([\d,]+) generated", done.stdout)
    if done.returncode:
        print(done.stdout[-6000:])
    return {"failures": done.returncode, "cases": int(cases[1].replace(",", "")) if cases else None, "examples": examples}


def size() -> dict[str, Any]:
    """What the extra adds, and the size of the whole light installation with it, bundled models included."""
    packages = {name: _installed(f"{ROOT}{name}") for name in ("", "[serve]")}
    added = sorted(packages["[serve]"] - packages[""])
    return {
        "packages": added,
        "megabytes": _megabytes("--no-deps", *added),
        "whole_installation_megabytes": _megabytes("-c", str(ROOT / "constraints.txt"), f"{ROOT}[serve]"),
    }


def _megabytes(*what: str) -> float:
    """Size of what pip installs into an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*_PIP, "--no-compile", "--target", folder, *what], check=True, capture_output=True)
        return round(sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 1e6, 2)


def _installed(what: str) -> set[str]:
    """Packages that pip would install in a fresh environment, with their versions."""
    command = [*_PIP, "--dry-run", "--ignore-installed", "-c", str(ROOT / "constraints.txt"), "--report", "-", what]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    packages = {one["metadata"]["name"]: one["metadata"]["version"] for one in report["install"]}
    return {f"{name}=={version}" for name, version in packages.items() if name != "anyner"}


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "size": size,
    "overhead": lambda: overhead(300),
    "throughput_one_text": lambda: throughput(600, 1, 32, 5, 1),
    "throughput_one_text_two_threads": lambda: throughput(600, 1, 32, 3, 2),
    "throughput_ten_texts": lambda: throughput(600, 10, 32, 2, 1),
    "many_requests": lambda: many_requests(10_000, 64, 500, 2),
    "full_queue": lambda: full_queue(2),
    "stop": lambda: stop(2),
    "slow_clients": lambda: slow_clients(5_000, 100, 2),
    "schema": lambda: schema_run(200),
}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all; results of the other parts are kept")
    parser.add_argument("-o", "--output", default=str(RESULTS / "serve.json"))
    arguments = parser.parse_args()
    path = Path(arguments.output)
    kept = json.loads(path.read_text(encoding="utf-8")) if arguments.parts and path.is_file() else {}
    for name in arguments.parts or PARTS:
        kept[name] = PARTS[name]()
        print(name, json.dumps(kept[name]), flush=True)
        about = {**header("server"), "command": "python benchmarks/serve.py", "cores": os.cpu_count()}
        write_result(about | {part: kept[part] for part in PARTS if part in kept}, arguments.output)


if __name__ == "__main__":
    run(main)
