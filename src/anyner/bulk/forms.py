"""Output formats that are written in parts: JSON lines, compressed or not, and Parquet."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from anyner.corpora.textfiles import packing
from anyner.document import Document
from anyner.errors import AnynerError, json_text

if TYPE_CHECKING:
    import pyarrow as pa

ENTITIES = "entities"


class Form(Protocol):
    @property
    def name(self) -> str: ...

    def write(self, documents: Sequence[Document], rows: pa.RecordBatch | None, path: Path) -> None:
        """Writes one part."""

    def join(self, parts: Sequence[Path], path: Path) -> None: ...


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Parts are compressed one by one: compressed files can be concatenated."""

    packed: str = ""
    """`.gz`, `.xz` or nothing."""
    name: str = "jsonl"

    def write(self, documents: Sequence[Document], rows: pa.RecordBatch | None, path: Path) -> None:
        del rows
        with packing(path, self.packed) as file:
            for document in documents:
                file.write((json_text(document.to_json()) + "\n").encode())

    def join(self, parts: Sequence[Path], path: Path) -> None:
        if not parts:
            self.write((), None, path)
        with path.open("ab") as whole:
            for part in parts:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, whole, 1 << 20)


@dataclass(frozen=True, slots=True)
class Parquet:
    """The columns of the input, or `id` and `text`, and a column of entities."""

    name: str = "parquet"

    def write(self, documents: Sequence[Document], rows: pa.RecordBatch | None, path: Path) -> None:
        from pyarrow.parquet import write_table

        write_table(with_entities(rows, documents), path)

    def join(self, parts: Sequence[Path], path: Path) -> None:
        from pyarrow.parquet import ParquetFile, ParquetWriter, write_table

        if not parts:
            write_table(with_entities(None, ()), path)
            return
        schema = ParquetFile(parts[0]).schema_arrow
        with ParquetWriter(path, schema) as writer:
            for part in parts:
                table = ParquetFile(part).read()
                if table.schema != schema:
                    raise AnynerError("the inputs have different columns, so they cannot become one Parquet file: write .jsonl")
                writer.write_table(table)


def entities_type() -> pa.DataType:
    import pyarrow as pa

    fragment = pa.list_(pa.int32())
    fields = [("label", pa.string()), ("fragments", pa.list_(fragment)), ("text", pa.string()), ("score", pa.float32())]
    return pa.list_(pa.struct(fields))


def with_entities(rows: pa.RecordBatch | None, documents: Sequence[Document]) -> pa.Table:
    """The rows, or else ids and texts, with the documents' entities as the last column. A column of that name is replaced."""
    import pyarrow as pa

    if rows is None:
        columns: dict[str, Any] = {"id": [one.id for one in documents], "text": [one.text for one in documents]}
        table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    else:
        table = pa.Table.from_batches([rows])
    if ENTITIES in table.column_names:
        table = table.drop_columns([ENTITIES])
    found = [[entity.to_json() for entity in document.entities] for document in documents]
    return table.append_column(ENTITIES, pa.array(found, entities_type()))
