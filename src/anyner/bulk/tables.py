"""Parquet files as chunks: each text of a column becomes a document, and the rows keep their other columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from anyner.bulk import chunks
from anyner.bulk.chunks import Chunk
from anyner.corpora.corpus import ProblemLog
from anyner.corpora.formats.arrow import PARQUET
from anyner.document import Document
from anyner.errors import AnynerError, InvalidInputError, first_line

if TYPE_CHECKING:
    import pyarrow as pa

_ID = "id"


def schema_of(path: Path, column: str) -> pa.Schema | None:
    """The columns of a file, after a check of its text column; None if it cannot be read."""
    PARQUET.check_installed()
    import pyarrow as pa
    from pyarrow.parquet import read_schema

    try:
        schema = read_schema(path)
    except (pa.ArrowException, OSError):
        return None
    if column not in schema.names:
        raise AnynerError(f"{path}: no column {column!r}: name the text column with --column ({', '.join(schema.names)})")
    kind = schema.field(column).type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise AnynerError(f"{path}: column {column!r}: expected texts, got {kind}")
    return schema


def parquet_chunks(path: Path, column: str, log: ProblemLog, names: str) -> Iterator[Chunk]:
    """A chunk for every thousand rows of a file that `schema_of` has checked.

    `names`: the prefix of document ids if there is no id column.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    row = 0
    try:
        with ParquetFile(path) as file:
            for rows in file.iter_batches(batch_size=chunks.MOST_DOCUMENTS):
                yield Chunk(documents_of_rows(rows, column, log, row, names), rows)
                row += len(rows)
    except (pa.ArrowException, OSError) as error:
        raise AnynerError(f"{path}: cannot be read: {first_line(error)}") from error


def documents_of_rows(rows: pa.RecordBatch, column: str, log: ProblemLog, before: int, names: str) -> tuple[Document, ...]:
    """A document for every row, empty if the row has no text; `before`: the number of earlier rows."""
    texts = rows.column(column).to_pylist()
    ids = rows.column(_ID).to_pylist() if _ID in rows.schema.names else [None] * len(texts)
    pairs = enumerate(zip(texts, ids, strict=True), before + 1)
    return tuple(_document(text, own, log, row, names) for row, (text, own) in pairs)


def _document(text: str | None, own: object, log: ProblemLog, row: int, names: str) -> Document:
    name = f"{names}-{row}" if own is None else str(own)
    if text is None:
        log.kept(row, "no text: read as an empty text")
    try:
        return Document(text or "", id=name)
    except InvalidInputError as error:
        log.kept(row, f"{error}: read as an empty text")
        return replace(Document(""), id=name)
