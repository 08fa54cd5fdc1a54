"""Files that are one JSON list with a document an item."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyner.corpora.annotation import Claim, ProblemLog, annotated, with_tags
from anyner.corpora.corpus import Corpus
from anyner.corpora.textfiles import BYTE_ORDER_MARK, whole_text, write_chunks
from anyner.document import Document
from anyner.errors import InvalidInputError

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


Item = dict[str, Any]
ClaimsOf = Callable[[Item, int, ProblemLog], Iterable[Claim]]
FieldsOf = Callable[[Item, int, ProblemLog], dict[str, str]]


@dataclass(frozen=True, slots=True)
class ItemForm:
    """Where an object keeps its words and, if it has any, its part-of-speech tags; what else it holds by two functions."""

    words_key: str
    claims_of: ClaimsOf
    fields_of: FieldsOf = lambda *_: {}
    pos_key: str | None = None


def read_items(path: Path, form: ItemForm) -> Corpus:
    """The corpus of a list of objects."""
    log = ProblemLog(path)
    return log.corpus(_documents(path, log, form))


def _documents(path: Path, log: ProblemLog, form: ItemForm) -> Iterator[Document]:
    for line, item in numbered_items(path, log):
        words = item.get(form.words_key) if isinstance(item, dict) else None
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            log.dropped(line, f'no "{form.words_key}", a list of strings')
            continue
        try:
            bare = Document.from_words(words, (), **form.fields_of(item, line, log))
        except InvalidInputError as error:
            log.dropped(line, str(error))
            continue
        if form.pos_key is not None:
            bare = with_tags(bare, item.get(form.pos_key), line, log)
        yield annotated(bare, form.claims_of(item, line, log), log, in_words=True)


def numbered_items(path: Path, log: ProblemLog) -> Iterator[tuple[int, Any]]:
    """Every item with the line it begins on. What follows a syntax error cannot be read and is one problem."""
    text = whole_text(path).removeprefix(BYTE_ORDER_MARK)
    place = _after_space(text, 0)
    line = 1 + text.count("\n", 0, place)
    mark = text[place : place + 1]
    if mark and mark != "[":
        log.dropped(line, "not a JSON list")
    if mark != "[":
        return
    empty = text[_after_space(text, place + 1) :].startswith("]")
    mark = "]" if empty else ","
    while mark == ",":
        begin = _after_space(text, place + 1)
        line += text.count("\n", place, begin)
        try:
            item, end = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "too deep or too large"
            log.dropped(line, f"not valid JSON: {reason}; the rest of the file cannot be read")
            return
        yield line, item
        place = _after_space(text, end)
        line += text.count("\n", begin, place)
        mark = text[place : place + 1]
    if mark != "]":
        log.dropped(line, "not valid JSON: expected a comma or the end of the list; the rest of the file cannot be read")


def _after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def keys_of_first_item(head: str) -> set[str] | None:
    """The keys of the first object of a JSON list, or None when this is not a list of objects."""
    start = head.lstrip()
    if not start.startswith("["):
        return None
    inner = start[1:].lstrip()
    if inner.startswith("]"):
        return set()
    if not inner.startswith("{"):
        return None
    try:
        first, _ = _DECODER.raw_decode(inner)
        return set(first)
    except (ValueError, RecursionError):
        return set(re.findall(r'"(\w+)"\s*:', inner))  # cut off by the end of the head


def write_items(path: Path, items: Iterable[dict[str, Any]]) -> None:
    """A JSON list with one item a line."""
    write_chunks(path, _listed(items))


def _listed(items: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield "["
    separator = "\n"
    for item in items:
        yield separator + json.dumps(item, ensure_ascii=False)
        separator = ",\n"
    yield "\n]\n"
