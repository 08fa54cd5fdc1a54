"""Files that are one JSON list with a document an item.

`spans`, of the DiffusionNER and Locate-and-Label repositories: tokens with contiguous typed spans.
`w2ner`, of the W2NER repository: sentences whose entities list the words they consist of.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyner.corpora import nertags
from anyner.corpora.annotation import Claim, annotated, is_unicode, shown
from anyner.corpora.corpus import Format, ProblemLog
from anyner.corpora.textfiles import BYTE_ORDER_MARK, chunk_writer, whole_text
from anyner.corpora.wordform import WordRules, entities_in_words, words_of
from anyner.document import Document

_SPACE = re.compile(r"[ \t\r\n]*")
_LIST_OF_OBJECTS = re.compile(r"\s*\[\s*([\]{])")
_DECODER = json.JSONDecoder()

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _ItemForm:
    """How a document is an object: under which keys it has its words and its entities, and what else, by functions."""

    words_key: str
    entities_key: str
    claim: Callable[[Any, int], Claim | None]
    """An entity of the object, on this line; None for what is none."""
    expected: str
    """What an entity must have."""
    fields: Callable[[Item, int, ProblemLog], dict[str, str]] = lambda *_: {}

    def documents(self, path: Path, log: ProblemLog) -> Iterator[Document]:
        """The documents of a list of objects."""
        for line, item in _numbered_items(path, log):
            words = item.get(self.words_key) if isinstance(item, dict) else None
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                log.dropped(line, f'no "{self.words_key}", a list of strings')
                continue
            with log.dropping(line):
                bare = Document.from_words(words, (), **self.fields(item, line, log))
                yield annotated(bare, self._claims(item, line, log), log, in_words=True)

    def _claims(self, item: Item, line: int, log: ProblemLog) -> Iterator[Claim]:
        entries = item.get(self.entities_key) or []
        if not isinstance(entries, list):
            log.dropped(line, f'"{self.entities_key}" is not a list')
            return
        for entry in entries:
            if claim := self.claim(entry, line):
                yield claim
            else:
                log.dropped(line, f"entity {shown(entry)} has no {self.expected}")


def _numbered_items(path: Path, log: ProblemLog) -> Iterator[tuple[int, Any]]:
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


def _keys_of_first_item(head: str) -> set[str] | None:
    """The keys of the first object of a JSON list, or None when this is not a list of objects."""
    opened = _LIST_OF_OBJECTS.match(head)
    if opened is None:
        return None
    if opened[1] == "]":
        return set()
    try:
        return set(_DECODER.raw_decode(head, opened.start(1))[0])
    except (ValueError, RecursionError):
        return set(re.findall(r'"(\w+)"\s*:', head))  # cut off by the end of the head


def _item_writer(item_of: Callable[[Document], Item]) -> Callable[[Iterable[Document], Path], None]:
    """Writes a JSON list with one item a line."""

    def listed(documents: Iterable[Document]) -> Iterator[str]:
        yield "["
        for number, document in enumerate(documents):
            yield (",\n" if number else "\n") + json.dumps(item_of(document), ensure_ascii=False)
        yield "\n]\n"

    return chunk_writer(listed)


def _spans_fields(item: Item, line: int, log: ProblemLog) -> dict[str, str]:
    if item.get(nertags.KEY):
        log.dropped(line, f'"{nertags.KEY}" is read in JSON lines only: write one object a line, without [ and ]')
    ids = (str(item[key]) for key in ("orig_id", "org_id") if type(item.get(key)) in {int, str})
    fields = {"id": next(filter(is_unicode, ids), "")}
    for field, key in (("before", "ltokens"), ("after", "rtokens")):
        match item.get(key):
            case None:
                pass
            case [*words] if all(isinstance(word, str) and is_unicode(word) for word in words):
                fields[field] = " ".join(words)
            case _:
                log.kept(line, f'"{key}" is not a list of strings, left out')
    return fields


def _spans_claim(entry: object, line: int) -> Claim | None:
    match entry:
        case {"type": label, "start": start, "end": end}:
            return Claim(line, label, [[start, end]])
    return None


def _spans_item(document: Document) -> Item:
    item: Item = {"tokens": words_of(document)}
    item["entities"] = [
        {"type": entity.label, "start": start, "end": end}
        for entity, fragments in entities_in_words(document)
        for start, end in fragments
    ]
    context = {"ltokens": document.before.split(), "rtokens": document.after.split()}
    return item | {key: value for key, value in ({"orig_id": document.id} | context).items() if value}


def _spans_recognises(_: Path, head: str) -> bool:
    keys = _keys_of_first_item(head)
    return keys is not None and ("tokens" in keys or not keys)


_SPANS = _ItemForm("tokens", "entities", _spans_claim, expected='"type", "start" and "end"', fields=_spans_fields)
SPANS = Format("spans", _SPANS.documents, _item_writer(_spans_item), WordRules(discontinuous=False).fit, _spans_recognises)


def _w2ner_claim(entry: object, line: int) -> Claim | None:
    match entry:
        case {"index": [*places], "type": label} if all(type(place) is int for place in places):
            return Claim(line, label, [(place, place + 1) for place in places])
    return None


def _w2ner_item(document: Document) -> Item:
    entities = [
        {"index": [place for start, end in fragments for place in range(start, end)], "type": entity.label}
        for entity, fragments in entities_in_words(document)
    ]
    return {"sentence": words_of(document), "ner": entities}


def _w2ner_recognises(_: Path, head: str) -> bool:
    keys = _keys_of_first_item(head)
    return keys is not None and {"sentence", "ner"} <= keys


_W2NER = _ItemForm("sentence", "ner", _w2ner_claim, expected='"index", a list of whole numbers, and "type"')
W2NER = Format("w2ner", _W2NER.documents, _item_writer(_w2ner_item), WordRules().fit, _w2ner_recognises)
