"""Writing documents in any format, without unnoticed losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from anyner.corpora.annotation import is_unicode, shown
from anyner.corpora.corpus import Extra, Format, Problem, ProblemLog
from anyner.corpora.reading import FORMATS, format_named
from anyner.corpora.textfiles import format_of
from anyner.document import Document, checked_documents
from anyner.errors import AnynerError, InvalidInputError

BY_ENDING = {
    ".jsonl": "jsonl",
    **dict.fromkeys((".conll", ".bio", ".iob", ".iob2", ".iobes"), "conll"),
    ".spacy": "spacy",
    ".parquet": "parquet",
    ".pubtator": "pubtator",
}
"""Formats by file extension."""


def write(
    documents: Iterable[Document],
    path: str | Path,
    format: str | None = None,  # noqa: A002
    lossy: bool = False,
) -> tuple[Problem, ...]:
    """Write all documents or none: what the format cannot hold is an error.

    Unless `format` names it, the file extension selects the format (`.jsonl`, `.conll`, `.spacy`, `.parquet`, `.pubtator`).
    With `lossy`, whatever the format can hold is written and the losses are returned; their `line` is the document's number.
    """
    chosen = format_named(format or format_of(Path(path), BY_ENDING, "format=…", (one.name for one in FORMATS)))
    chosen.check_installed()
    lost: list[Problem] = []
    chosen.write(_fitted(documents, chosen, Path(path), lossy, lost), Path(path))
    return tuple(lost)


def left_out(documents: Iterable[Document], format: Format) -> dict[Extra, int]:  # noqa: A002
    """Counts of what the documents have besides text and entities and the format does not store."""
    numbers: Counter[Extra] = Counter()
    for document in documents:
        numbers["ids"] += bool(document.id)
        numbers["scores"] += sum(entity.score is not None for entity in document.entities)
        numbers["words"] += document.words is not None
        numbers["doc"] += document.doc is not None
        numbers["labels"] += document.labels is not None
        numbers["context"] += bool(document.before or document.after)
        numbers["meta"] += bool(document.meta)
    return {what: number for what, number in numbers.items() if number and what not in format.keeps}


def _fitted(documents: Iterable[Document], chosen: Format, path: Path, lossy: bool, lost: list[Problem]) -> Iterator[Document]:
    for number, document in enumerate(checked_documents(documents), 1):
        log = ProblemLog(path)
        fitted = None
        with log.dropping(number):
            fitted = chosen.fit(_writable(document), log)
        name = f"document {number}" + (f" ({shown(document.id)})" if document.id else "")
        if log.found and not lossy:
            raise AnynerError(
                f"{path}: format {chosen.name} cannot hold {name}: {log.found[0].what}; "
                "to write what it can hold, use lossy (anyner convert --lossy)"
            )
        lost += [replace(loss, line=number, what=f"{name}: {loss.what}") for loss in log.found]
        if fitted is not None:
            yield fitted


def _writable(document: Document) -> Document:
    strings = [document.id, document.doc or "", document.before, document.after, *(document.labels or ())]
    for string in [*strings, *(entity.label for entity in document.entities)]:
        if not is_unicode(string):
            raise InvalidInputError(f"{shown(string)} has a lone surrogate")
    return document
