"""Two Ray actors against one on this machine, with one thread each; one of the two is killed midway.

python benchmarks/cluster.py
"""

from __future__ import annotations

import os
import tempfile
import time
from functools import partial
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from script import RESULTS, header, parser_of, run, write_result

from anyner.bulk.chunks import Done
from anyner.bulk.forms import Parquet
from anyner.bulk.parts import Parts
from anyner.bulk.workers import Work
from anyner.cli.choices import load_model
from anyner.cli.texts import Files
from anyner.cluster.ray import LOCAL, Actors, connected, predict_files
from anyner.corpora.synthetic import synthetic
from anyner.errors import AnynerError

_WORDS = 8
"""Words per text; few, so that a chunk takes seconds."""


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--documents", type=int, default=12_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", default=str(RESULTS / "ray.json"))
    arguments = parser.parse_args()
    # By default, Ray gives its workers a low priority.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
    with tempfile.TemporaryDirectory() as folder:
        given = Path(folder) / "in.parquet"
        texts = [" ".join(one.text.split()[:_WORDS]) for one in synthetic(1000, contiguous=True, split="test")]
        pq.write_table(pa.table({"text": [f"{texts[n % len(texts)]} {n}" for n in range(arguments.documents)]}), given)
        rounds = []
        for number in range(arguments.rounds):
            alone = _seconds(given, 1, one := Path(folder) / f"one-{number}.parquet")
            both = _seconds(given, 2, two := Path(folder) / f"two-{number}.parquet", arguments.documents // 3)
            if not pq.read_table(one).equals(pq.read_table(two)):
                raise AnynerError("two actors found different entities than one")
            rounds.append({"one_seconds": round(alone, 1), "two_seconds": round(both, 1), "ratio": round(alone / both, 2)})
            print(rounds[-1], flush=True)
        entities = sum(map(len, pq.read_table(one)["entities"].to_pylist()))
    best = max(rounds, key=lambda one: one["ratio"])
    result = {
        "model": "general-en",
        "cores": os.cpu_count(),
        "documents": arguments.documents,
        "entities": entities,
        "equal": True,
        "killed": "one of the two actors in every round, after a third of the documents",
        "timed": "from the start of the actors to the whole output, without the start of Ray; others used the machine as well",
        "rounds": rounds,
        "best_ratio": best["ratio"],
    }
    write_result({**header("cluster"), **result}, arguments.output)


def _seconds(given: Path, number: int, output: Path, kill_after: int | None = None) -> float:
    actors, files, killed = Actors(number), Files([str(given)]), list[int]()

    def on_progress(done: Done, share: float) -> None:
        del share
        if kill_after is not None and done.documents >= kill_after and not killed:
            killed.append(_kill_an_actor())

    with connected(LOCAL, actors):
        began = time.monotonic()
        work, load = Work(Parquet(), {}), partial(load_model, None, "cpu", threads=1)
        predict_files(files, Parts(output, {}), work, load, actors=actors, on_progress=on_progress)
        seconds = time.monotonic() - began
    if kill_after is not None and not killed:
        raise AnynerError("no actor was killed")
    return seconds


def _kill_an_actor() -> int:
    for process in psutil.Process().children(recursive=True):
        if "ChunkPredictor" in " ".join(process.cmdline()):
            process.kill()
            return process.pid
    raise AnynerError("there is no actor to kill")


if __name__ == "__main__":
    run(main)
