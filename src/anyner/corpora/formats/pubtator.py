"""PubTator: title and abstract on a line each, then a line an entity; a blank line between documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from anyner.corpora.annotation import Claim, annotated, shown
from anyner.corpora.corpus import Format, ProblemLog
from anyner.corpora.textfiles import chunk_writer, numbered_lines
from anyner.corpora.textform import TextRules, line_break_trouble
from anyner.document import Document

_PASSAGE = re.compile(r"([^|\s]+)\|(\w+)\|(.*)", re.DOTALL)
_SAFE_ID = re.compile(r"[^|\s]+")
_RELATION_COLUMNS = 4

_Line = tuple[int, str]


def _documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    skipped: dict[str, list[int]] = {}
    for block in _blocks(path):
        with log.dropping(block[0][0]):
            if (document := _document(block, log, skipped)) is not None:
                yield document
    for kind, lines in skipped.items():
        log.dropped(lines[0], f"{kind} are not read: {len(lines)} skipped")


def _blocks(path: Path) -> Iterator[list[_Line]]:
    block: list[_Line] = []
    for number, line in numbered_lines(path):
        if line:
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _document(block: list[_Line], log: ProblemLog, skipped: dict[str, list[int]]) -> Document | None:
    passages: list[str] = []
    name = ""
    claims: list[Claim] = []
    for number, line in block:
        columns = line.split("\t")
        if len(claims) == 0 and (match := _PASSAGE.fullmatch(line)) and (not name or match[1] == name):
            name = match[1]
            passages.append(match[3])
        elif len(columns) > _RELATION_COLUMNS and columns[1].isdecimal() and columns[2].isdecimal():
            places = int(columns[1][:15]), int(columns[2][:15])
            claims.append(Claim(number, columns[4], [places], text=columns[3]))
            if any(column.strip("-") for column in columns[5:]):
                skipped.setdefault("identifiers of entities", []).append(number)
        elif len(columns) >= _RELATION_COLUMNS and columns[0] == name:
            skipped.setdefault("relations", []).append(number)
        else:
            log.dropped(number, f"malformed line {shown(line)}")
    if not passages:
        return None
    # offsets count one character between title and abstract
    text = "\n".join(passages) if any(passages[1:]) else passages[0]
    return annotated(Document(text, id=name), claims, log, in_words=False)


def _blocks_of(documents: Iterable[Document]) -> Iterator[str]:
    for number, document in enumerate(documents, 1):
        name = document.id if _SAFE_ID.fullmatch(document.id) else str(number)
        title, _, abstract = document.text.partition("\n")
        yield f"{name}|t|{title}\n{name}|a|{abstract}\n"
        for entity in document.entities:
            copy = re.sub(r"[\t\r\n]", " ", entity.text)
            yield f"{name}\t{entity.start}\t{entity.end}\t{copy}\t{entity.label}\n"
        yield "\n"


def _text_trouble(text: str) -> str | None:
    if "\r" in text:
        return "holds a carriage return"
    _, line_break, abstract = text.partition("\n")
    more = "\n" in abstract or (line_break and not abstract)
    return "has line breaks other than the one between title and abstract" if more else None


def _recognises(_: Path, head: str) -> bool:
    match = _PASSAGE.match(head.lstrip("\r\n"))
    return match is not None and match[2] in {"t", "a"}


PUBTATOR = Format(
    "pubtator",
    _documents,
    chunk_writer(_blocks_of),
    TextRules(discontinuous=False, text_trouble=_text_trouble, label_trouble=line_break_trouble).fit,
    _recognises,
    keeps=frozenset({"ids"}),
    signature=True,
)
