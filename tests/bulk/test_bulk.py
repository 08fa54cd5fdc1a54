"""Bulk prediction: the same documents as `predict`, in order, in any number of processes, and after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anyner
from anyner.bulk import chunks
from anyner.bulk.chunks import Chunk, Done, chunks_of, with_context
from anyner.bulk.forms import JsonLines
from anyner.bulk.parts import Parts
from anyner.bulk.run import predict_chunks
from anyner.bulk.workers import Task, Work, in_processes, in_this_process
from anyner.corpora.source_documents import neighbours_attached
from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.inference.recognizer import Recognizer

TEXTS = [document.text for document in synthetic(60, contiguous=True, split="test")]


@pytest.fixture(scope="module")
def recognizer() -> Recognizer:
    return anyner.load("general-en", runtime="onnx", threads=1)


@given(st.lists(st.integers(0, 12)), st.integers(1, 5), st.integers(1, 20))
def test_chunks_are_runs_of_the_documents_within_limits(sizes: list[int], most: int, characters: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "MOST_DOCUMENTS", most)
        patch.setattr(chunks, "MOST_CHARACTERS", characters)
        documents = [Document("a" * size) for size in sizes]
        made = list(chunks_of(documents))
    assert [document for chunk in made for document in chunk.documents] == documents
    for chunk in made:
        assert 1 <= len(chunk.documents) <= most
        assert sum(len(one.text) for one in chunk.documents) <= characters or len(chunk.documents) == 1


def test_context_is_found_across_the_ends_of_chunks(small_chunks: None) -> None:
    documents = [Document(text, doc=str(place // 10), sentence=place % 10) for place, text in enumerate(TEXTS)]
    found = [document for chunk in with_context(chunks_of(documents), 2) for document in chunk.documents]
    assert [(one.before, one.after) for one in found] == [(one.before, one.after) for one in neighbours_attached(documents, 2)]


class Stopped(BaseException):
    pass


@pytest.mark.usefixtures("small_chunks")
def test_a_run_goes_on_where_it_stopped(recognizer: Recognizer, tmp_path: Path) -> None:
    documents = [Document(text, id=str(place)) for place, text in enumerate(TEXTS)]
    form, chosen = JsonLines(".gz"), dict[str, Any]()

    def run(name: str, stop: int | None = None) -> tuple[Done, int]:
        predicted = 0

        def do(tasks: Any) -> Iterator[Done]:
            nonlocal predicted
            for done in in_this_process(recognizer, Work(form, chosen), tasks):
                if predicted == stop:
                    raise Stopped
                predicted += 1
                yield done

        parts = Parts(tmp_path / name, {"model": "this"})
        return predict_chunks(chunks_of(documents), parts, form, do, lambda done: None), predicted

    assert run("whole.jsonl.gz") == (Done(60), 9)
    for stop in (0, 2, 3):
        with pytest.raises(Stopped):
            run("halves.jsonl.gz", stop)
        assert not (tmp_path / "halves.jsonl.gz").exists()
    with pytest.raises(AnynerError, match=r"another run \(different model\): delete it"):
        Parts(tmp_path / "halves.jsonl.gz", {"model": "other"})
    done, predicted = run("halves.jsonl.gz")
    assert (done.documents, predicted) == (60, 1), "8 of 9 were there: each stop came after a part was written"
    assert (tmp_path / "halves.jsonl.gz").read_bytes() == (tmp_path / "whole.jsonl.gz").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def _loaded(folder: Path, device: str | None) -> Recognizer:
    return anyner.load(folder, device=device, threads=1)


@pytest.mark.usefixtures("small_chunks")
def test_processes_write_what_one_would(recognizer: Recognizer, tmp_path: Path) -> None:
    made = list(chunks_of(map(Document, TEXTS)))
    work = Work(JsonLines(), {})
    for name, do in (("one", in_this_process), ("two", None)):
        (tmp_path / name).mkdir()
        tasks = [Task(chunk, tmp_path / name / str(place)) for place, chunk in enumerate(made)]
        done = do(recognizer, work, tasks) if do else in_processes(recognizer, _never, work, tasks, [None, None])
        assert [one.documents for one in done] == [len(chunk.documents) for chunk in made]
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_a_torch_model_is_not_forked(tiny_model: Path, tmp_path: Path) -> None:
    """A fork would wait for threads that it does not have."""
    recognizer = anyner.load(tiny_model, runtime="torch", device="cpu", threads=2)
    tasks = [Task(Chunk((Document("Rome"),)), tmp_path / "0")]
    with pytest.raises(AnynerError, match="a worker process ended"):
        list(in_processes(recognizer, _never, Work(JsonLines(), {}), tasks, [None]))


def _never(device: str | None) -> Recognizer:
    raise AssertionError("a forked process shares the model")


class _Deadly(JsonLines):
    def write(self, documents: Any, rows: Any, path: Path) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_one_line_and_nothing_is_lost(recognizer: Recognizer, tmp_path: Path) -> None:
    tasks = [Task(Chunk((Document("Rome"),)), tmp_path / "0")]
    with pytest.raises(AnynerError, match="a worker process ended"):
        list(in_processes(recognizer, _never, Work(_Deadly(), {}), tasks, [None]))
    assert not tasks[0].path.exists()


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    """A worker whose parent is gone exits by itself."""
    code = "import os, threading, time; from anyner.bulk import workers; workers._end_with(os.getppid() + 1); time.sleep(60)"
    started = time.monotonic()
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 1
    assert time.monotonic() - started < 30
