"""Rows of a table in, the same rows with a column of entities out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anyner.bulk.forms import ENTITIES, entities_type, with_entities
from anyner.bulk.tables import documents_of_rows
from anyner.corpora.corpus import ProblemLog
from anyner.errors import AnynerError
from anyner.inference.recognizer import Recognizer

if TYPE_CHECKING:
    import pyarrow as pa


def predicted_rows(recognizer: Recognizer, rows: pa.RecordBatch, column: str, chosen: Mapping[str, Any]) -> pa.RecordBatch:
    """`chosen`: keyword arguments of `Recognizer.stream`. A row without text has no entities."""
    import pyarrow as pa

    if column not in rows.schema.names:
        raise AnynerError(f"no column {column!r}: name the text column ({', '.join(rows.schema.names)})")
    documents = documents_of_rows(rows, column, ProblemLog(), 0, "row")
    table = with_entities(rows, list(recognizer.stream(documents, **chosen)))
    return pa.RecordBatch.from_arrays([one.combine_chunks() for one in table.columns], schema=table.schema)


def output_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of predicted rows."""
    import pyarrow as pa

    kept = [field for field in schema if field.name != ENTITIES]
    return pa.schema([*kept, pa.field(ENTITIES, entities_type())], schema.metadata)
