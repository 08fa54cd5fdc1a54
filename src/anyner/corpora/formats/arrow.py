"""Tables of Hugging Face `datasets`: Parquet files, and folders written by `save_to_disk`. Needs pyarrow, not `datasets`.

`parquet` and `datasets` have the columns of `jsonl`; `parquet-tags` has `tokens` and `ner_tags`. All are read in either form.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyner.corpora import nertags
from anyner.corpora.corpus import EVERYTHING, Format, ProblemLog
from anyner.corpora.formats.jsonl import JSONL, document_of, record_of
from anyner.corpora.nertags import TagReader
from anyner.corpora.tags import TaggedDocument, iob2_tags, tags_to_entities
from anyner.corpora.textfiles import new_folder, whole_bytes, write_bytes
from anyner.corpora.wordform import WordRules, words_of
from anyner.document import Document
from anyner.errors import AnynerError, first_line

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1000
_METADATA = b"huggingface"
_LARGEST, _LARGEST_RATIO = 1_000_000_000, 20
"""Maximum unpacked size: bytes, or a multiple of the file's size if that is more."""
_STATE, _INFO = "state.json", "dataset_info.json"


def _parquet_documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    return _documents(path, _parquet_batches(path), log)


def _documents(path: Path, batches: Iterator[pa.RecordBatch], log: ProblemLog) -> Iterator[Document]:
    from pyarrow import ArrowException

    try:
        return tags_to_entities(list(_records(path, batches, log)), log)
    except (ArrowException, OSError, ValueError, MemoryError) as error:
        if isinstance(error, AnynerError):
            raise
        raise AnynerError(f"{path}: cannot be read: {first_line(error)}") from error


def _records(path: Path, batches: Iterator[pa.RecordBatch], log: ProblemLog) -> Iterator[Document | TaggedDocument]:
    """One document a row; the line of a problem is the row number."""
    reader: TagReader | None = None
    row = 0
    for batch in batches:
        batch.validate(full=True)  # a damaged file could cause reads outside its memory
        reader = reader or TagReader(path, log, _tag_names(batch.schema))
        for item in batch.to_pylist():
            row += 1
            with log.dropping(row):
                yield document_of(item, row, log, reader)


def _tag_names(schema: pa.Schema) -> tuple[str, ...]:
    """The names of the tag numbers, which `datasets` stores in the metadata of a table."""
    try:
        features = json.loads((schema.metadata or {}).get(_METADATA, b"null"))["info"]["features"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return ()
    return nertags.class_names(features.get(nertags.KEY) if isinstance(features, dict) else None) or ()


def _parquet_batches(path: Path) -> Iterator[pa.RecordBatch]:
    from pyarrow.parquet import ParquetFile

    data = whole_bytes(path)
    file = ParquetFile(BytesIO(data))
    groups = (file.metadata.row_group(number) for number in range(file.metadata.num_row_groups))
    _check_size(path, sum(group.total_byte_size for group in groups), len(data))
    yield from file.iter_batches(batch_size=_ROWS)


def _folder_documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    if not path.is_dir():
        raise AnynerError(f"{path}: is a file, but format datasets is a folder written by save_to_disk")
    return _documents(path / _STATE, _folder_batches(path), log)


def _folder_batches(path: Path) -> Iterator[pa.RecordBatch]:
    from pyarrow import ipc

    for file in _data_files(path):
        data, unpacked = whole_bytes(file), 0
        with ipc.open_stream(BytesIO(data)) as stream:
            for batch in stream:
                unpacked += batch.get_total_buffer_size()  # `nbytes` trusts the numbers in it, which may be wrong
                _check_size(file, unpacked, len(data))
                yield batch


def _check_size(path: Path, unpacked: int, packed: int) -> None:
    if unpacked > (limit := max(_LARGEST, _LARGEST_RATIO * packed)):
        raise AnynerError(f"{path}: unpacks to more than {limit / 1e9:g} GB")


def _data_files(path: Path) -> list[Path]:
    try:
        listed = json.loads((path / _STATE).read_bytes())["_data_files"]
        names = [entry["filename"] for entry in listed]
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        raise AnynerError(f"{path / _STATE}: lists no data files") from None
    if not all(isinstance(name, str) and name == Path(name).name for name in names):
        raise AnynerError(f"{path / _STATE}: a data file is not in the folder itself")
    return [path / name for name in names]


def _span_schema() -> pa.Schema:
    import pyarrow as pa

    pairs = pa.list_(pa.list_(pa.int64()))
    entity = pa.struct([("label", pa.string()), ("fragments", pairs), ("text", pa.string()), ("score", pa.float64())])
    fields: list[tuple[str, pa.DataType]] = [("id", pa.string()), ("text", pa.string()), ("entities", pa.list_(entity))]
    fields += [("doc", pa.string()), ("sentence", pa.int64()), ("labels", pa.list_(pa.string())), ("words", pairs)]
    fields += [("before", pa.string()), ("after", pa.string()), ("coverage", pa.float64()), ("unknown", pa.float64())]
    return pa.schema(fields)


def _span_batches(documents: Iterable[Document]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    schema = _span_schema()
    rows: list[dict[str, Any]] = []
    for document in documents:
        rows.append(record_of(document))
        if len(rows) == _ROWS:
            yield pa.RecordBatch.from_pylist(rows, schema=schema)
            rows = []
    yield pa.RecordBatch.from_pylist(rows, schema=schema)


def _write_parquet(documents: Iterable[Document], path: Path) -> None:
    write_bytes(path, [_parquet(_span_batches(documents))])


def _write_tags(documents: Iterable[Document], path: Path) -> None:
    import pyarrow as pa

    rows: list[dict[str, Any]] = [{"id": one.id, "tokens": words_of(one), nertags.KEY: iob2_tags(one)} for one in documents]
    labels = sorted({tag[2:] for row in rows for tag in row[nertags.KEY] if tag != "O"})
    names = ["O", *(f"{prefix}-{label}" for label in labels for prefix in "BI")]
    numbers = {name: number for number, name in enumerate(names)}
    for row in rows:
        row[nertags.KEY] = [numbers[tag] for tag in row[nertags.KEY]]
    string = {"dtype": "string", "_type": "Value"}
    features: dict[str, Any] = {"id": string, "tokens": {"feature": string, "_type": "Sequence"}}
    features[nertags.KEY] = {"feature": {"names": names, "_type": "ClassLabel"}, "_type": "Sequence"}
    fields: list[tuple[str, pa.DataType]] = [("id", pa.string()), ("tokens", pa.list_(pa.string()))]
    fields += [(nertags.KEY, pa.list_(pa.int64()))]
    schema = pa.schema(fields, metadata={_METADATA: json.dumps({"info": {"features": features}})})
    write_bytes(path, [_parquet([pa.RecordBatch.from_pylist(rows, schema=schema)])])


def _parquet(batches: Iterable[pa.RecordBatch]) -> bytes:
    from pyarrow.parquet import ParquetWriter

    stream = BytesIO()
    writer = None
    for batch in batches:
        writer = writer or ParquetWriter(stream, batch.schema)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()
    return stream.getvalue()


def _write_folder(documents: Iterable[Document], path: Path) -> None:
    from pyarrow import ipc

    name = "data-00000-of-00001.arrow"
    with new_folder(path, "datasets") as folder:
        with ipc.new_stream(folder / name, _span_schema()) as stream:
            for batch in _span_batches(documents):
                stream.write_batch(batch)
        state: dict[str, Any] = {"_data_files": [{"filename": name}], "_fingerprint": "anyner", "_split": None}
        state |= {"_format_columns": None, "_format_kwargs": {}, "_format_type": None, "_output_all_columns": False}
        info = {"citation": "", "description": "", "homepage": "", "license": ""}
        for file, content in ((_STATE, state), (_INFO, info)):
            (folder / file).write_text(json.dumps(content), encoding="utf-8")


def _recognises_parquet(_: Path, head: str) -> bool:
    return head.startswith("PAR1")


def _recognises_folder(path: Path, _: str) -> bool:
    return path.is_dir() and (path / _STATE).is_file() and (path / _INFO).is_file()


def _label_trouble(label: str) -> str | None:
    return "holds a line break" if "\n" in label else None


_TAG_RULES = WordRules(discontinuous=False, overlapping=False, label_trouble=_label_trouble)
PARQUET = Format(
    "parquet",
    _parquet_documents,
    _write_parquet,
    JSONL.fit,
    _recognises_parquet,
    keeps=EVERYTHING - {"meta"},
    signature=True,
    needs="pyarrow",
)
PARQUET_TAGS = Format(
    "parquet-tags",
    _parquet_documents,
    _write_tags,
    _TAG_RULES.fit,
    lambda *_: False,  # read as `parquet`: its columns tell which of the two it is
    keeps=frozenset({"ids", "words"}),
    needs="pyarrow",
)
DATASETS = Format(
    "datasets",
    _folder_documents,
    _write_folder,
    JSONL.fit,
    _recognises_folder,
    keeps=EVERYTHING - {"meta"},
    signature=True,
    needs="pyarrow",
    reads_folders=True,
    writes_folder=True,
)
