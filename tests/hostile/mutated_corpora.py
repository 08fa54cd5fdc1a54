"""Corpus files of every format, changed at random, and what `anyner inspect` and `anyner convert` make of them.

python tests/hostile/mutated_corpora.py --minutes 10

A file that is read, or refused in one line within five seconds, is well; anything else is printed with the number that makes it
again, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import lzma
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from typer.testing import CliRunner

import anyner
from anyner.cli.main import app
from anyner.corpora.reading import FORMATS as ALL_FORMATS
from anyner.corpora.synthetic import synthetic
from anyner.document import Document, Entity
from anyner.errors import printable

MOST_SECONDS = 5
FORMATS = [one for one in ALL_FORMATS if not one.needs or find_spec(one.needs)]
_PACKED: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}
# What breaks readers: numbers out of every range, what JSON allows and Python does not, marks of formats, letters that are none.
_INSERTED = (
    b"NaN", b"-1", b"1e999", b"9" * 400, b"-0.0", b"null", b"true", b'""', b"[]", b"{}", b"[" * 300, b'{"a":' * 300, b'"\\ud800"',
    b"\\u0000", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\r\n", b"\n\n", b"\t", b" ", b"\x1b]0;x\x07",
    "\u2028".encode(), "\u202e".encode(), "\u00ad".encode(), "a\u0301".encode(), "👩‍👩‍👧".encode(), b"T1\tA 0 4\tx\n",
    b"E1\tA:T1\n", b"#1\tNote\n", b"-DOCSTART- O\n\n", b"B-", b"I-", b"0,1 X|", b"|", b";", b"#", b"{", b"}", b"]", b'"', b"\\",
)  # fmt: skip
_NAMES = {
    "jsonl": "corpus.jsonl",
    "jsonl-tokens": "corpus.jsonl",
    "conll": "corpus.conll",
    "brat": "corpus",
    "datasets": "corpus",
    "azure": "corpus",
    "dai": "corpus.txt",
}
_KEYS = (
    b"text", b"tokens", b"entities", b"fragments", b"label", b"start", b"end", b"sentence", b"ner", b"index", b"type", b"id",
    b"annotations", b"value", b"offset", b"length", b"location", b"passage", b"infon", b"data", b"result", b"Text", b"T_SP",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """A file that was neither read nor refused as it should be."""

    number: int
    file: str
    what: str

    def __str__(self) -> str:
        return f"mutation {self.number} of {self.file}: {self.what}"


class TooSlowError(BaseException):
    """No `Exception`: nothing that is meant for bad input may catch it."""


def written_samples(folder: Path) -> list[Path]:
    """A small corpus in every format: a file, or a folder of files."""
    documents = [*synthetic(6, seed=1).documents, Document("Zoë saw 北京.", (Entity("P", ((0, 3),)), Entity("L", ((8, 10),))))]
    folder.mkdir(parents=True)
    anyner.write(documents, folder / "all.jsonl", "jsonl")
    samples = []
    for one in FORMATS:
        place = folder / one.name / _NAMES.get(one.name, "corpus.json")
        place.parent.mkdir(parents=True)
        told = _told(["convert", str(folder / "all.jsonl"), str(place), "--to", one.name, "--lossy", "--splitter", "unicode"])
        if told or not place.exists():
            raise AssertionError(f"{one.name}: {told}")
        samples.append(place)
    return samples


def mutated(content: bytes, draw: random.Random) -> bytes:
    for _ in range(draw.choice((1, 1, 2, 3, 8))):
        start = draw.randrange(len(content) + 1)
        stop = min(len(content), start + draw.choice((0, 1, 1, 4, 20, 200)))
        kind = draw.randrange(7)
        if kind == 0:
            content = content[:start] + content[stop:]
        elif kind == 1:
            content = content[:start] + draw.choice(_INSERTED) + content[stop:]
        elif kind == 2:
            content = content[:start] + content[start:stop] * draw.choice((2, 3, 50)) + content[stop:]
        elif kind == 3:
            content = content[:start] + bytes(draw.randrange(256) for _ in range(draw.randrange(1, 6))) + content[stop:]
        elif kind == 4:
            content = content[:start]
        elif kind == 5:
            lines = content.splitlines(keepends=True)
            draw.shuffle(lines)
            content = b"".join(lines[: draw.randrange(len(lines) + 1)])
        else:
            content = content.replace(draw.choice(_KEYS), draw.choice((*_KEYS, *_INSERTED)), draw.choice((1, 1, -1)))
    return content[:200_000]


def tried(samples: Sequence[Path], scratch: Path, number: int) -> Fault | None:
    """One sample, changed as this number says, read and, if it can be, written in another format."""
    draw = random.Random(number)
    sample = draw.choice(samples)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    if sample.is_dir():
        place = scratch / "corpus"
        shutil.copytree(sample, place)
        changed = draw.choice(sorted(file for file in place.rglob("*") if file.is_file()))
        changed.write_bytes(mutated(changed.read_bytes(), draw))
    else:
        ending = draw.choice(tuple(_PACKED))
        place = scratch / (sample.name + ending)
        content = _PACKED[ending](mutated(sample.read_bytes(), draw))
        place.write_bytes(mutated(content, draw) if ending and draw.random() < 0.3 else content)
    named = draw.choice((None, draw.choice(FORMATS).name, sample.parent.name))
    if draw.random() < 0.5:
        command, read_as = ["inspect", str(place)], "--format"
    else:
        words = draw.choice(([], ["--splitter", "unicode"]))
        to = draw.choice(FORMATS).name
        command, read_as = ["convert", str(place), str(scratch / "new"), "--to", to, "--lossy", *words], "--from"
    what = _told([*command, *([read_as, named] if named else [])])
    return Fault(number, f"{sample.parent.name}, {command[0]} as {named}", what) if what else None


def _told(command: list[str]) -> str:
    """What went wrong with a command; empty where it did its work, or refused it in one line."""
    try:
        with _at_most(MOST_SECONDS):
            result = CliRunner().invoke(app, command)
    except TooSlowError:
        return f"took over {MOST_SECONDS} s"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return "".join(traceback.format_exception_only(result.exception)) + _last_place(result.exception)
    lines = result.stderr.splitlines()
    return f"exit code {result.exit_code} with {len(lines)} lines: {lines[:3]}" if result.exit_code and len(lines) != 1 else ""


def _last_place(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"at {Path(last.filename).name}:{last.lineno}"


@contextlib.contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutation, to see one of them again")
    arguments = parser.parse_args()
    ends = time.monotonic() + 60 * arguments.minutes
    faults: list[Fault] = []
    kinds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        samples = written_samples(Path(folder) / "samples")
        number = arguments.first
        while time.monotonic() < ends:
            if fault := tried(samples, Path(folder) / "scratch", number):
                faults.append(fault)
                kinds[fault.what[:40]] += 1
                print(printable(str(fault)), flush=True)
            number += 1
    print(json.dumps({"mutations": number - arguments.first, "faults": len(faults), "kinds": kinds}))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
