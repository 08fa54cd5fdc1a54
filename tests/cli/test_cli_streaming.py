"""`anyner predict - --lines` answers while stdin stays open, shows progress, and compresses its output by the file name."""

import gzip
import json
import lzma
import os
import pty
import re
import select
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from command_line import anyner_command

from anyner.cli import output
from anyner.cli.main import run
from anyner.cli.output import Progress, write_out
from anyner.cli.texts import Files, documents_of
from anyner.corpora.reading import read
from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.inference.pool import FLUSH, Flush

TEXTS = [document.text for document in synthetic(12, contiguous=True, split="train")]
PATIENCE = 60


def answered(output: int) -> bytes:
    """What the command wrote before it waits for input again; fails if that is nothing."""
    ready, *_ = select.select([output], [], [], PATIENCE)
    assert ready, "no answer while stdin is open"
    return os.read(output, 65_536)


def answers_of(
    monkeypatch: pytest.MonkeyPatch, stdin: int, write: Callable[[bytes], object], end: Callable[[], object], *arguments: object
) -> list[bytes]:
    """What the command answers to each of three lines before the next one is written. It runs here, and a thread writes."""
    reading, writing = os.pipe()

    def written() -> list[bytes]:
        try:
            answers = []
            for text in TEXTS[:3]:
                write(f"{text}\n".encode())
                answers.append(answered(reading))
            return answers
        finally:
            end()

    monkeypatch.setattr(sys, "argv", ["anyner", "predict", "-", "--lines", *map(str, arguments)])
    with os.fdopen(stdin) as lines, os.fdopen(writing, "w") as stdout, ThreadPoolExecutor(1) as writer:
        monkeypatch.setattr(sys, "stdin", lines)
        monkeypatch.setattr(sys, "stdout", stdout)
        answers = writer.submit(written)
        with pytest.raises(SystemExit) as ended:
            run()
    os.close(reading)
    assert not ended.value.code
    return answers.result()


def test_a_line_is_answered_before_the_next_one_is_written(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin, lines = os.pipe()
    write, end = partial(os.write, lines), partial(os.close, lines)
    answers = answers_of(monkeypatch, stdin, write, end, "-m", tiny_model, "--format", "jsonl")
    found = [[(one["id"], one["text"]) for one in map(json.loads, answer.splitlines())] for answer in answers]
    assert found == [[(str(number), text)] for number, text in enumerate(TEXTS[:3], 1)]


def test_a_line_typed_in_a_terminal_is_drawn_at_once(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, terminal = pty.openpty()
    write = partial(os.write, keyboard)
    answers = answers_of(monkeypatch, terminal, write, partial(write, b"\x04"), "-m", tiny_model)
    os.close(keyboard)
    for text, answer in zip(TEXTS[:3], answers, strict=True):
        assert text.split()[0] in answer.decode()


class Pipe:
    """Stdin as a pipe that this test writes to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        reading, self._writing = os.pipe()
        monkeypatch.setattr(sys, "stdin", os.fdopen(reading, encoding="utf-8"))

    def write(self, data: bytes) -> None:
        os.write(self._writing, data)

    def close(self) -> None:
        os.close(self._writing)


def test_a_stream_pauses_only_where_nothing_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = Pipe(monkeypatch)
    items = documents_of("-", Files([], lines=True))
    pipe.write(b"\xef\xbb\xbfone\r\ntwo\n\nfo")
    assert [next(items) for _ in range(4)] == [Document("one", id="1"), Document("two", id="2"), Document("", id="3"), FLUSH]
    pipe.write(b"ur\nfi")
    assert [next(items) for _ in range(2)] == [Document("four", id="4"), FLUSH]
    pipe.write(b"ve")
    pipe.close()
    assert [item for item in items if item is not FLUSH] == [Document("five", id="5")]
    sys.stdin.close()


def test_a_file_and_other_commands_see_no_pauses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"\n".join(b"%d" % number for number in range(50_000)))
    with path.open(encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdin", file)
        items = list(documents_of("-", Files([], lines=True)))
    assert [item.text for item in items if not isinstance(item, Flush)] == [str(number) for number in range(50_000)]
    assert FLUSH not in items
    pipe = Pipe(monkeypatch)
    pipe.write(b"one\n")
    pipe.close()
    assert list(documents_of(None, Files(["-"], lines=True))) == [Document("one", id="1")]
    sys.stdin.close()


# --- progress --------------------------------------------------------------------------------------------------------


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A clock that advances by a second with every reading."""
    now = iter(range(1000))
    monkeypatch.setattr(output.time, "monotonic", lambda: float(next(now)))
    yield


@pytest.mark.usefixtures("seconds")
def test_progress_tells_documents_words_and_rate_and_is_wiped_out(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(show=True)

    def documents() -> Iterator[Document]:
        progress.words(3000)  # inside the first document
        yield Document("a")

    assert len(list(progress.counted(documents()))) == 1
    shown = re.split("[\r\x1b]", capsys.readouterr().err)
    assert "0 documents, 3,000 words, 3,000 words a second" in shown
    assert "1 documents, 3,000 words, 1,500 words a second" in shown
    assert shown[-2:] == ["", "[K"]
    assert len(list(Progress(show=True).counted([Document("a")] * 4))) == 4
    assert "4 documents, 1 a second" in capsys.readouterr().err
    silent = Progress(show=False)
    silent.words(5)
    assert len(list(silent.counted([Document("a")]))) == 1
    assert capsys.readouterr().err == ""


# --- compression by the file name ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ending", "unpack"), [(".gz", gzip.decompress), (".xz", lzma.decompress), (".GZ", gzip.decompress)])
def test_results_are_packed_as_the_name_says(tiny_model: Path, tmp_path: Path, ending: str, unpack: Any) -> None:
    plain = {}
    for name in ("out.jsonl", "out.html", "out.txt"):
        for path in (tmp_path / name, tmp_path / (name + ending)):
            answer = anyner_command("predict", "-", "--lines", "-m", tiny_model, "-o", path, stdin="\n".join(TEXTS))
            assert (answer.code, answer.out, answer.err) == (0, "", "")
        plain[name] = (tmp_path / name).read_bytes()
        assert unpack((tmp_path / (name + ending)).read_bytes()) == plain[name]
    assert len(read(tmp_path / f"out.jsonl{ending}")) == len(TEXTS)
    forced = tmp_path / f"entities{ending}"
    anyner_command("predict", "-", "--lines", "-m", tiny_model, "-o", forced).assert_one_line("add --format")
    assert anyner_command("predict", TEXTS[0], "-m", tiny_model, "--format", "jsonl", "-o", forced).code == 0
    assert json.loads(unpack(forced.read_bytes()))["text"] == TEXTS[0]


def test_many_packed_documents_are_not_flushed_one_by_one(tiny_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl.gz"
    anyner_command("predict", "-", "--lines", "-m", tiny_model, "-o", path, stdin=f"{TEXTS[0]}\n" * 300)
    packed = path.read_bytes()
    assert len(packed) < 1.2 * len(gzip.compress(gzip.decompress(packed)))


def test_a_left_over_of_a_killed_process_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / f".out.jsonl.gz.{os.getpid()}.part").write_text("half")
    write_out(tmp_path / "out.jsonl.gz", lambda file: file.write("whole"))
    assert gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()) == b"whole"


# --- words that the model does not know ------------------------------------------------------------------------------


def test_texts_in_an_unknown_script_are_told_once(tiny_model: Path) -> None:
    lines = f"{TEXTS[0]}\n中国人民在北京举行会议\n中国人民在北京举行会议\n"
    answer = anyner_command("predict", "-", "--lines", "-m", tiny_model, "--format", "jsonl", stdin=lines)
    assert answer.code == 0
    assert [json.loads(line).get("unknown") for line in answer.out.splitlines()] == [None, 1.0, 1.0]
    assert answer.err.startswith("2 of 3 documents: most words are not in the model's vocabulary")
    assert answer.err.count("\n") == 1
