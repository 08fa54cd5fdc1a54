"""Loads one tampered folder after the other, with the network blocked and little memory; a line of JSON for each.

A process of its own: `python go_through.py EVERY SCRATCH_FOLDER TRAINED_MODEL OTHER_MODEL ...`.
"""

from __future__ import annotations

import builtins
import json
import resource
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tampered_folders import SECRET, Tamper, everything, of_an_architecture

import anyner
from anyner.errors import AnynerError

ROOM = 1_500_000_000
"""Bytes that all folders together may take beyond what the imports and a good model take."""
used: list[str] = []


def tripped(what: str) -> Any:
    def refuse(*_: object, **__: object) -> NoReturn:
        used.append(what)
        raise OSError(f"{what} is not to be used")

    return refuse


def outcome(folder: Path) -> dict[str, Any]:
    try:
        anyner.load(folder, "cpu").predict("Dr. Anna Smith of Acme met Bob in Cairo.")
        return {"outcome": "loads", "message": ""}
    except AnynerError as error:
        return {"outcome": "refused", "message": str(error)}
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        return {"outcome": "crash", "message": f"{type(error).__name__}: {error}"}


def fresh_copy(good: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"):
        shutil.copyfile(good / name, folder / name)


def cases(every: int, goods: Sequence[Path], secret: Path, tripwire: Path) -> Iterator[tuple[Path, str, Tamper]]:
    for name, tamper in everything(goods[0], secret, tripwire, every):
        yield goods[0], name, tamper
    for good in goods[1:]:
        for name, tamper in of_an_architecture(good, tripwire, every):
            yield good, f"{good.name}: {name}", tamper


def main(every: int, scratch: Path, goods: Sequence[Path]) -> None:
    secret, tripwire, folder = scratch / "secret.json", scratch / "tripwire", scratch / "folder"
    secret.write_text(
        json.dumps({"architecture": SECRET, "model": {"vocab": {SECRET: SECRET}}, SECRET: SECRET}), encoding="utf-8"
    )
    for good in goods:
        outcome(good)  # everything that is imported late
    socket.socket.connect = tripped("the network")  # type: ignore[method-assign]
    socket.getaddrinfo = tripped("the network")
    builtins.input = tripped("stdin")
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for good, name, tamper in cases(every, goods, secret, tripwire):
        used.clear()
        fresh_copy(good, folder)
        tamper(folder)
        started = time.process_time()
        found = outcome(folder)
        seconds = time.process_time() - started
        print(json.dumps({"name": name, **found, "seconds": seconds, "used": used, "ran": tripwire.exists()}), flush=True)
        tripwire.unlink(missing_ok=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), [Path(one) for one in sys.argv[3:]])
