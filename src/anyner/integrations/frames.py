"""`anyner.predict_frame`: the entities of a text column as a data frame of the same library, pandas or Polars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from anyner.document import Document, Entity
from anyner.errors import AnynerError, InvalidInputError
from anyner.inference.recognizer import Recognizer
from anyner.storage.load import load

Frame = TypeVar("Frame")
_LIBRARIES = ("pandas", "polars")


def predict_frame(frame: Frame, column: str, model: str | Path | Recognizer = "general-en", **chosen: Any) -> Frame:
    """One row per entity: document, label, text, start, end, score, fragments.

    `document` is the index of the row in pandas, its number in Polars. A missing text gives no rows. `model` is a loaded model or
    a name for `anyner.load`; `chosen`: options, thresholds, overlap, batch_tokens, as in `Recognizer.stream`.
    """
    library = type(frame).__module__.partition(".")[0]
    if library not in _LIBRARIES or type(frame).__name__ != "DataFrame":
        hint = ": collect it first" if type(frame).__name__ == "LazyFrame" else ""
        raise AnynerError(f"predict_frame: expected a pandas or Polars DataFrame, got {type(frame).__name__}{hint}")
    texts = dict(_texts(frame, column, library))
    recognizer = model if isinstance(model, Recognizer) else load(model)
    documents = zip(texts, recognizer.stream(texts.values(), **chosen), strict=True)
    found = [(row, entity) for row, document in documents for entity in document.entities]
    made: Frame = _pandas_frame(found, frame) if library == "pandas" else _polars_frame(found)
    return made


def _texts(frame: Any, column: str, library: str) -> Iterator[tuple[int, Document]]:
    """The number and the text of each row that has a text."""
    named = [str(name) for name in frame.columns]
    if column not in frame.columns:
        raise AnynerError(f"unknown column {column!r}: name the text column ({', '.join(named)})")
    if named.count(str(column)) > 1:
        raise AnynerError(f"there are {named.count(str(column))} columns {column!r}: give them different names")
    missing: Iterable[bool] = frame[column].isna() if library == "pandas" else frame[column].is_null()
    for row, (text, absent) in enumerate(zip(frame[column].to_list(), missing, strict=True)):
        if absent:
            continue
        if not isinstance(text, str):
            raise AnynerError(f"column {column!r}, row {row}: expected a text, got {type(text).__name__}")
        try:
            yield row, Document(text)
        except InvalidInputError as error:
            raise InvalidInputError(f"column {column!r}, row {row}: {error}") from None


def _columns(found: list[tuple[int, Entity]]) -> dict[str, list[Any]]:
    return {
        "label": [entity.label for _, entity in found],
        "text": [entity.text for _, entity in found],
        "start": [entity.start for _, entity in found],
        "end": [entity.end for _, entity in found],
        "score": [entity.score for _, entity in found],
        "fragments": [[list(fragment) for fragment in entity.fragments] for _, entity in found],
    }


def _pandas_frame(found: list[tuple[int, Entity]], frame: Any) -> Any:
    pandas = import_module("pandas")
    kinds = {"label": str, "text": str, "start": int, "end": int, "score": float, "fragments": object}
    made = pandas.DataFrame(_columns(found)).astype(kinds)
    made.insert(0, "document", frame.index[[row for row, _ in found]])
    return made


def _polars_frame(found: list[tuple[int, Entity]]) -> Any:
    polars = import_module("polars")
    whole, text = polars.Int64, polars.String
    schema = {"document": whole, "label": text, "text": text, "start": whole, "end": whole, "score": polars.Float64}
    columns = {"document": [row for row, _ in found], **_columns(found)}
    return polars.DataFrame(columns, schema=schema | {"fragments": polars.List(polars.List(whole))})
