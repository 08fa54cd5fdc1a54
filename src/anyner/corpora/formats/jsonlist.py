"""Files that are one JSON list; each item is a document in words.

`spans`, of the DiffusionNER and Locate-and-Label repositories: tokens with contiguous typed spans.
`w2ner`, of the W2NER repository: sentences whose entities list the words they consist of.
`gliner`, of the GLiNER repository: contiguous spans with inclusive ends; its files may also have one object a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyner.corpora import nertags
from anyner.corpora.annotation import Claim, annotated, is_unicode, shown
from anyner.corpora.corpus import Format, ProblemLog
from anyner.corpora.jsonfiles import Item, first_item, item_writer, numbered_items
from anyner.corpora.wordform import WordRules, entities_in_words, words_of
from anyner.document import Document


@dataclass(frozen=True, slots=True)
class _ItemForm:
    """How an object stores a document: the keys of words and entities, and functions for the rest."""

    words_key: str
    entities_key: str
    claim: Callable[[Any, int], Claim | None]
    """Reads an entity of the object at this line; None if it is malformed."""
    expected: str
    """What an entity must have."""
    lines: bool = False
    """Whether a file may have one object a line instead."""
    fields: Callable[[Item, int, ProblemLog], dict[str, str]] = lambda *_: {}

    def documents(self, path: Path, log: ProblemLog) -> Iterator[Document]:
        """The documents of a list of objects."""
        for line, item in numbered_items(path, log, lines=self.lines):
            words = item.get(self.words_key) if isinstance(item, dict) else None
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                log.dropped(line, f'expected "{self.words_key}", a list of strings')
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
                log.dropped(line, f"entity {shown(entry)}: expected {self.expected}")


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
    first = first_item(head)
    return first is not None and first.listed and ("tokens" in first.keys or not first.keys)


_CONTIGUOUS = WordRules(discontinuous=False)
_SPANS = _ItemForm("tokens", "entities", _spans_claim, expected='"type", "start" and "end"', fields=_spans_fields)
SPANS = Format(
    "spans",
    _SPANS.documents,
    item_writer(_spans_item),
    _CONTIGUOUS.fit,
    _spans_recognises,
    keeps=frozenset({"ids", "words", "context"}),
)


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
    first = first_item(head)
    return first is not None and first.listed and {"sentence", "ner"} <= first.keys


_W2NER = _ItemForm("sentence", "ner", _w2ner_claim, expected='"index", a list of whole numbers, and "type"')
W2NER = Format(
    "w2ner", _W2NER.documents, item_writer(_w2ner_item), WordRules().fit, _w2ner_recognises, keeps=frozenset({"words"})
)


def _gliner_claim(entry: object, line: int) -> Claim | None:
    match entry:
        case [int() as start, int() as last, label]:
            return Claim(line, label, [(start, last + 1)])
    return None


def _gliner_item(document: Document) -> Item:
    placed = entities_in_words(document)
    entities = [[start, end - 1, entity.label] for entity, fragments in placed for start, end in fragments]
    return {"tokenized_text": words_of(document), "ner": entities}


def _gliner_recognises(_: Path, head: str) -> bool:
    first = first_item(head)
    return first is not None and "tokenized_text" in first.keys


_GLINER = _ItemForm("tokenized_text", "ner", _gliner_claim, expected="first word, last word and label", lines=True)
GLINER = Format(
    "gliner",
    _GLINER.documents,
    item_writer(_gliner_item),
    _CONTIGUOUS.fit,
    _gliner_recognises,
    keeps=frozenset({"words"}),
    signature=True,
)
