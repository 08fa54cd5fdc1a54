"""Files of JSON objects: one list of them, or one object a line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyner.corpora.corpus import ProblemLog
from anyner.corpora.textfiles import BYTE_ORDER_MARK, chunk_writer, whole_text
from anyner.document import Document
from anyner.errors import InvalidInputError

_SPACE = re.compile(r"[ \t\r\n]*")
_FIRST_OBJECT = re.compile(r"\s*(\[?)\s*([\]{])")
_DECODER = json.JSONDecoder()

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FirstItem:
    """The first object of a file, for format detection."""

    listed: bool
    """Whether it is in a list."""
    keys: frozenset[str]
    item: Item
    """Empty if the object is longer than the head of the file."""


def first_item(head: str) -> FirstItem | None:
    """The first object of a list or of JSON lines; None if the file begins differently. An empty list has no keys."""
    opened = _FIRST_OBJECT.match(head)
    if opened is None or (opened[2] == "]" and not opened[1]):
        return None
    listed = bool(opened[1])
    if opened[2] == "]":
        return FirstItem(listed, frozenset(), {})
    try:
        item = _DECODER.raw_decode(head, opened.start(2))[0]
    except (ValueError, RecursionError):
        return FirstItem(listed, frozenset(re.findall(r'"(\w+)"\s*:', head)), {})  # cut off by the end of the head
    return FirstItem(listed, frozenset(item), item)


def parsed(text: str) -> Any:
    """The value of a JSON text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"not valid JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError):
        raise InvalidInputError("not valid JSON: too deep or too large") from None


def numbered_items(path: Path, log: ProblemLog, *, lines: bool = False) -> Iterator[tuple[int, Any]]:
    """Every item of a list with the line it begins on; with `lines`, also of a file with one object a line.

    Whatever follows a syntax error in a list cannot be read: one problem.
    """
    text = whole_text(path).removeprefix(BYTE_ORDER_MARK)
    place = after_space(text, 0)
    line = 1 + text.count("\n", 0, place)
    mark = text[place : place + 1]
    if mark == "{" and lines:
        yield from _numbered_lines(text, log)
    elif mark and mark != "[":
        log.dropped(line, "not a JSON list")
    if mark != "[":
        return
    empty = text[after_space(text, place + 1) :].startswith("]")
    mark = "]" if empty else ","
    while mark == ",":
        begin = after_space(text, place + 1)
        line += text.count("\n", place, begin)
        try:
            item, end = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "too deep or too large"
            log.dropped(line, f"not valid JSON: {reason}; the rest of the file cannot be read")
            return
        yield line, item
        place = after_space(text, end)
        line += text.count("\n", begin, place)
        mark = text[place : place + 1]
    if mark != "]":
        log.dropped(line, "not valid JSON: expected a comma or the end of the list; the rest of the file cannot be read")


def after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _numbered_lines(text: str, log: ProblemLog) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            with log.dropping(number):
                yield number, parsed(line)


def item_writer(item_of: Callable[[Document], Item]) -> Callable[[Iterable[Document], Path], None]:
    """Writes a JSON list with one item a line."""

    def listed(documents: Iterable[Document]) -> Iterator[str]:
        yield "["
        for number, document in enumerate(documents):
            yield (",\n" if number else "\n") + json_line(item_of(document))
        yield "\n]\n"

    return chunk_writer(listed)


def line_writer(item_of: Callable[[Document], Item]) -> Callable[[Iterable[Document], Path], None]:
    """Writes one object a line."""
    return chunk_writer(lambda documents: (json_line(item_of(document)) + "\n" for document in documents))


def json_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
