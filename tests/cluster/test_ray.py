"""Ray actors: in this process, and (slow) on a local cluster, with one of them killed during the run."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import anyner_command

import anyner
from anyner.bulk.chunks import Chunk, Done, chunks_of
from anyner.bulk.forms import JsonLines, with_entities
from anyner.bulk.parts import Parts
from anyner.bulk.workers import Work, in_this_process
from anyner.cluster.ray import Actors, ChunkPredictor, RowPredictor, _one_line, _steps, connected, predict
from anyner.corpora.corpus import Problem
from anyner.corpora.synthetic import synthetic
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.inference.recognizer import Recognizer

TEXTS = [document.text for document in synthetic(30, contiguous=True, split="test")]


@pytest.fixture(scope="module")
def recognizer(tiny_model: Path) -> Recognizer:
    return anyner.load(tiny_model, device="cpu", threads=1)


def test_an_actor_adds_entities_to_the_rows_of_any_batch(recognizer: Recognizer) -> None:
    actor = RowPredictor(lambda: recognizer, "text", {})
    table = pa.table({"n": pa.chunked_array([range(12), range(12, 30)]), "text": pa.chunked_array([TEXTS[:12], TEXTS[12:]])})
    expected = with_entities(table.combine_chunks().to_batches()[0], recognizer.predict(TEXTS))
    assert actor(table).equals(expected)
    assert pa.concat_tables([actor(table[:7]), actor(table[7:7]), actor(table[7:])]).equals(expected)
    assert any(expected["entities"].to_pylist())


class Source:
    share = 0.5

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def chunks(self) -> Iterator[Chunk]:
        yield from chunks_of(map(Document, TEXTS))
        self.problems.append(Problem("a.jsonl", 3, "bad", kept=False))


@pytest.mark.usefixtures("small_chunks")
def test_an_actor_writes_the_parts_that_are_not_there_yet(recognizer: Recognizer, tmp_path: Path) -> None:
    work, loads = Work(JsonLines(), {}), list[str]()

    def load() -> Recognizer:
        loads.append("model")
        return recognizer

    actor, parts = ChunkPredictor(load, work), Parts(tmp_path / "out.jsonl", {})
    parts.path(1).write_text("of an earlier run", "utf-8")
    steps = [actor(row)["step"] for row in _steps(Source(), parts, None)]
    assert loads == ["model"]
    assert [step.todo for step in steps] == [Done(7), Done(7), Done(7), Done(7), Done(2), None]
    assert [len(step.problems) for step in steps] == [0, 0, 0, 0, 0, 1]
    parts.path(1).unlink()
    tasks = [row["step"].todo for row in _steps(Source(), parts, None)][1:2]
    assert list(in_this_process(recognizer, work, tasks)) == [Done(7)]
    parts.join(5, work.form.join)
    assert [json.loads(line)["text"] for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()] == TEXTS


def test_ray_needs_an_output_and_a_cluster_and_tells_what_went_wrong(tiny_model: Path) -> None:
    anyner_command("predict", "Rome", "-m", tiny_model, "--ray", "local").assert_one_line("need -i FILE and -o OUT.jsonl")
    pytest.importorskip("ray", reason="the extra ray is not installed")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    for prefix in ("", "ray://"):
        with pytest.raises(AnynerError, match=f"--ray {prefix}{address}: .*refused"), connected(prefix + address, Actors()):
            pass
    try:
        raise RuntimeError("of Ray") from AnynerError("a.txt: not there")
    except RuntimeError as error:
        assert str(_one_line(error)) == "a.txt: not there"
    assert str(_one_line(RuntimeError("lost\nat line 3"))).startswith("Ray: lost")


def _kill_an_actor(folder: Path, killed: list[int]) -> None:
    """Kills one as soon as the first part is there."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not any(folder.glob("0*")):
        time.sleep(0.05)
    for process in psutil.process_iter():
        if "ChunkPredictor" in " ".join(_command(process)):
            process.kill()
            killed.append(process.pid)
            return


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".parquet", ".jsonl"])
def test_a_cluster_writes_what_one_process_would_though_an_actor_is_killed(tiny_model: Path, tmp_path: Path, ending: str) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    texts = [f"{text} ({number})" for number in range(400) for text in TEXTS]
    rows: dict[str, list[Any]] = {"text": texts, "n": list(range(len(texts)))}
    given = tmp_path / f"in{ending}"
    if ending == ".parquet":
        pq.write_table(pa.table(rows), given)
    else:
        lines = [json.dumps({"text": text}) for text in texts]
        given.write_text("\n".join([*lines, "{"]) + "\n", "utf-8")
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    command = partial(anyner_command, "predict", "-i", given, "-m", tiny_model, "--threads", 1, "-o")
    assert command(here).code == 0
    killed: list[int] = []
    killer = Thread(target=_kill_an_actor, args=(there.with_name("there.parquet.parts"), killed))
    killer.start()
    answer = command(there, "--ray", "local", "--workers", 2)
    killer.join()
    assert answer.code == 0, answer.err
    assert killed and here.read_bytes() == there.read_bytes()
    assert ("1 problems" in answer.err or "1 problem" in answer.err) == (ending == ".jsonl")
    bad = command(there, "--column", "none", "--ray", "local") if ending == ".parquet" else None
    assert bad is None or (bad.code == 1 and "no column 'none'" in bad.err)


@pytest.mark.slow
def test_rows_of_a_dataset_get_entities(tiny_model: Path, recognizer: Recognizer) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    actors = Actors(2)
    with connected("local", actors):
        import ray

        dataset = ray.data.from_arrow([pa.table({"text": TEXTS[:15]}), pa.table({"text": TEXTS[15:]})])
        found = {row["text"]: row["entities"] for row in predict(dataset, str(tiny_model), actors).take_all()}
        assert {node["NodeManagerAddress"] for node in ray.nodes()} == {"127.0.0.1"}
    assert set(found) == set(TEXTS)
    for document in recognizer.predict(TEXTS):
        assert [one["label"] for one in found[document.text]] == [one.label for one in document.entities]
