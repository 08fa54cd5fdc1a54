"""Prediction in Spark, for `DataFrame.mapInArrow`. Needs pyarrow; Spark itself is never imported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from anyner.cluster.rows import output_schema, predicted_rows
from anyner.inference import RuntimeName
from anyner.inference.recognizer import Recognizer
from anyner.storage.load import load

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["output_schema", "predict_batches"]


def predict_batches(
    batches: Iterable[pa.RecordBatch],
    model: str,
    column: str = "text",
    *,
    device: str | None = "cpu",
    threads: int | None = 1,
    runtime: RuntimeName = "auto",
    **chosen: Any,
) -> Iterator[pa.RecordBatch]:
    """The batches with a column of entities; `chosen`: keyword arguments of `Recognizer.stream`.

    A Spark process loads the model once, however many partitions it gets.
    """
    recognizer = _loaded(model, device, threads, runtime)
    for batch in batches:
        yield predicted_rows(recognizer, batch, column, chosen)


@lru_cache(maxsize=1)
def _loaded(model: str, device: str | None, threads: int | None, runtime: RuntimeName) -> Recognizer:
    return load(model, device, threads=threads, runtime=runtime)
