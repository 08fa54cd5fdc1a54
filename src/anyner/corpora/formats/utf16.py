"""JSON lines with `offset` and `length` in UTF-16 code units, as returned by Azure and JavaScript programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anyner.corpora.annotation import Claim, annotated, name_of, shown
from anyner.corpora.codeunits import Utf16Offsets
from anyner.corpora.corpus import Format, ProblemLog
from anyner.corpora.jsonfiles import Item, first_item, line_writer, parsed
from anyner.corpora.textfiles import numbered_lines
from anyner.corpora.textform import TextRules
from anyner.document import Document
from anyner.errors import InvalidInputError

UNIT_KEY = "stringIndexType"
UNIT = "Utf16CodeUnit"
_LABEL_KEYS = ("category", "label", "type")


def _documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    for line, text in numbered_lines(path):
        if text.strip():
            with log.dropping(line):
                yield _document(parsed(text), line, log)


def _document(item: object, line: int, log: ProblemLog) -> Document:
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        raise InvalidInputError('expected "text", a string')
    if (unit := item.get(UNIT_KEY, UNIT)) != UNIT:
        raise InvalidInputError(f'"{UNIT_KEY}": expected {UNIT}, got {shown(unit)}')
    bare = Document(item["text"], id=name_of(item.get("id")))
    entries = item.get("entities") or []
    if not isinstance(entries, list):
        raise InvalidInputError('"entities" is not a list')
    return annotated(bare, claims_in_units(entries, bare.text, line, log), log, in_words=False)


def claims_in_units(entries: list[Any], text: str, line: int, log: ProblemLog) -> Iterator[Claim]:
    """Entities with `offset` and `length` in UTF-16 code units, converted to characters."""
    offsets = Utf16Offsets(text)
    for entry in entries:
        match entry:
            case {"offset": int() as offset, "length": int() as length}:
                start, end = offsets.character(offset), offsets.character(offset + length)
                label = next((entry[key] for key in _LABEL_KEYS if entry.get(key) is not None), None)
                if start is None or end is None:
                    log.dropped(line, f"entity {shown(label)}: offset {offset} and length {length} split a surrogate pair")
                else:
                    yield Claim(line, label, [[start, end]], entry.get("confidenceScore"), entry.get("text"))
            case _:
                log.dropped(line, f'entity {shown(entry)}: expected "offset" and "length", whole numbers')


def entities_in_units(document: Document) -> Iterator[Item]:
    """The entities in the form that `claims_in_units` reads."""
    offsets = Utf16Offsets(document.text)
    for entity in document.entities:
        offset, end = offsets.units(entity.start), offsets.units(entity.end)
        score = {} if entity.score is None else {"confidenceScore": round(entity.score, 6)}
        yield {
            "category": entity.label,
            "offset": offset,
            "length": end - offset,
            "text": entity.text,
        } | score


def _item(document: Document) -> Item:
    name = {"id": document.id} if document.id else {}
    return {UNIT_KEY: UNIT} | name | {"text": document.text, "entities": list(entities_in_units(document))}


def _recognises(_: Path, head: str) -> bool:
    first = first_item(head)
    return first is not None and not first.listed and UNIT_KEY in first.keys and "assets" not in first.keys


UTF16 = Format(
    "utf16",
    _documents,
    line_writer(_item),
    TextRules(discontinuous=False).fit,
    _recognises,
    keeps=frozenset({"ids", "scores"}),
    signature=True,
)
