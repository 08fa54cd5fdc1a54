"""Prediction on Ray, on one machine or a cluster, by actors of Ray Data that load the model once.

An actor that dies is restarted, possibly on another node, and its chunks are assigned again.
"""

from __future__ import annotations

import logging
import os
import socket
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from anyner.bulk.chunks import MOST_DOCUMENTS, Chunk, Done
from anyner.bulk.parts import Parts
from anyner.bulk.run import left_to_do
from anyner.bulk.workers import Task, Work
from anyner.cluster.rows import predicted_rows
from anyner.corpora.corpus import Problem
from anyner.errors import AnynerError, first_line
from anyner.inference import RuntimeName
from anyner.inference.recognizer import Recognizer
from anyner.storage.load import load

if TYPE_CHECKING:
    import pyarrow as pa
    from ray.data import Dataset

OnProgress = Callable[[Done, float], object]
"""Called with what is done so far and the share of the input read."""
LOCAL = "local"
"""The address of a temporary cluster on this machine only."""
_SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}
_LOCAL_SETTINGS = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Tells Ray, on any system, that the cluster is a single machine and listens on 127.0.0.1 only."""
_ANSWER_SECONDS = 20
_AT_ONCE = 2
"""Chunks in flight per actor: one running, one queued. More would wait for a slow or restarting actor."""
_TRIES = 3
"""Retries of a chunk whose actor dies, before the run fails: its documents need more memory than there is."""


@dataclass(frozen=True, slots=True)
class Actors:
    """The processes that predict."""

    number: int | None = None
    """None: as many as the cluster has room for."""
    threads: int = 1
    gpus: float = 0
    """GPUs per actor; below 1, several actors share a GPU."""

    @property
    def device(self) -> str:
        """Without a number: Ray shows an actor only its own GPU."""
        return "cuda" if self.gpus else "cpu"

    def options(self) -> dict[str, Any]:
        """Keyword arguments of `Dataset.map`."""
        from ray import cluster_resources
        from ray.data import ActorPoolStrategy

        kind, each = ("GPU", self.gpus) if self.gpus else ("CPU", self.threads)
        number = self.number or max(1, int(cluster_resources().get(kind, 0) / each))
        return {
            "compute": ActorPoolStrategy(size=number, max_tasks_in_flight_per_actor=_AT_ONCE),
            "num_cpus": self.threads,
            "num_gpus": self.gpus,
            "max_restarts": -1,
            "max_task_retries": _TRIES,
        }


def predict(
    dataset: Dataset, model: str, actors: Actors, *, column: str = "text", runtime: RuntimeName = "auto", **chosen: Any
) -> Dataset:
    """The rows of a dataset with a column of entities; `chosen`: keyword arguments of `Recognizer.stream`.

    Every node must be able to load the model: a bundled one, or a folder that all nodes share.
    """
    loading = partial(load, model, actors.device, threads=actors.threads, runtime=runtime)
    return dataset.map_batches(
        RowPredictor,
        fn_constructor_args=(loading, column, chosen),
        batch_format="pyarrow",
        batch_size=MOST_DOCUMENTS,
        **actors.options(),
    )


class RowPredictor:
    """An actor: rows in, the same rows with a column of entities out."""

    def __init__(self, load: Callable[[], Recognizer], column: str, chosen: Mapping[str, Any]) -> None:
        self._recognizer, self._column, self._chosen = load(), column, chosen

    def __call__(self, rows: pa.Table) -> pa.Table:
        import pyarrow as pa

        batches = rows.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=rows.schema)]
        return pa.Table.from_batches([predicted_rows(self._recognizer, one, self._column, self._chosen) for one in batches])


class Source(Protocol):
    """Files, read in chunks."""

    problems: list[Problem]

    @property
    def share(self) -> float: ...

    def chunks(self) -> Iterator[Chunk]: ...


@dataclass(frozen=True, slots=True)
class _Step:
    """What goes through the cluster: a chunk to predict, then its counts; at the end, the problems found while reading."""

    share: float
    todo: Task | Done | None = None
    problems: tuple[Problem, ...] = ()


class ChunkPredictor:
    """An actor that predicts a chunk and writes its part."""

    def __init__(self, load: Callable[[], Recognizer], work: Work) -> None:
        self._recognizer, self._work = load(), work

    def __call__(self, row: dict[str, _Step]) -> dict[str, _Step]:
        step = row["step"]
        done = self._work.do(self._recognizer, step.todo) if isinstance(step.todo, Task) else step.todo
        return {"step": _Step(step.share, done, step.problems)}


def predict_files(
    source: Source,
    parts: Parts,
    work: Work,
    load: Callable[[], Recognizer],
    *,
    actors: Actors,
    on_progress: OnProgress,
) -> tuple[Done, list[Problem]]:
    """Predicts the chunks of files on the cluster that Ray is connected to, and joins their parts into the output.

    One task reads the files and the actors write the parts, so the nodes must share the folders of both.
    """
    from ray.data import DataContext, from_items
    from ray.exceptions import RayActorError, RayError

    own = DataContext.get_current().copy()
    own.target_max_block_size = 1  # one chunk per block
    own.enable_progress_bars = own.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    done, number, problems = Done(0), 0, list[Problem]()
    with DataContext.current(own), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about fewer chunks than actors, and deprecations in Ray
        # no CPU for the reader: the actors may hold all of them
        steps = from_items([0]).flat_map(partial(_steps, source, parts), num_cpus=0)
        steps = steps.map(ChunkPredictor, fn_constructor_args=(load, work), **actors.options())
        try:
            for row in steps.iter_rows():
                step = row["step"]
                problems += step.problems
                if isinstance(step.todo, Done):
                    done, number = done + step.todo, number + 1
                    on_progress(done, step.share)
        except RayActorError as error:
            raise AnynerError(
                f"an actor died {_TRIES + 1} times, perhaps out of memory: repeat the command to continue"
            ) from error
        except RayError as error:
            raise _one_line(error) from error
    parts.join(number, work.form.join)
    return done, problems


def _steps(source: Source, parts: Parts, row: object) -> Iterator[dict[str, _Step]]:
    del row
    for todo in left_to_do(source.chunks(), parts):
        yield {"step": _Step(source.share, todo)}
    yield {"step": _Step(1.0, problems=tuple(source.problems))}


@contextmanager
def connected(address: str, actors: Actors) -> Iterator[None]:
    """Connects to Ray: `local`, `auto` for the cluster that this machine is a node of, or the address of another cluster."""
    if find_spec("ray") is None:
        raise AnynerError("--ray needs ray, which is not installed: pip install 'anyner[ray]'")
    _check_answers(address)
    settings = _SETTINGS | _LOCAL_SETTINGS if address == LOCAL else _SETTINGS
    for name, value in settings.items():  # read when Ray is imported
        os.environ.setdefault(name, value)
    import ray

    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address == LOCAL:
            cpus = max(os.cpu_count() or 1, (actors.number or 0) * actors.threads)
            ray.init(LOCAL, num_cpus=cpus, include_dashboard=False, **quiet)
        else:
            ray.init(address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise AnynerError(f"--ray {address}: {first_line(error)}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _check_answers(address: str) -> None:
    """Raises an error if a host and port do not answer: Ray would retry for minutes."""
    host, colon, port = address.rpartition("//")[2].rpartition(":")
    if not colon or not port.isdecimal():
        return  # `local`, `auto`
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise AnynerError(f"--ray {address}: {first_line(error)}") from None


def _one_line(error: BaseException) -> AnynerError:
    """The anyner error that caused a Ray error, else the Ray error in one line."""
    from ray.exceptions import RayError

    behind: BaseException | None = error
    while behind is not None and (isinstance(behind, RayError) or not isinstance(behind, AnynerError)):
        behind = getattr(behind, "cause", None) or behind.__cause__
    return AnynerError(first_line(behind) if behind is not None else f"Ray: {first_line(error)}")
