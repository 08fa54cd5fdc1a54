"""The JSON of the W2NER repository: a list of sentences whose entities list the words they consist of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from anyner.corpora.annotation import Claim, ProblemLog, annotated, shown
from anyner.corpora.corpus import Corpus
from anyner.corpora.format import Fit, Format
from anyner.corpora.jsonlist import keys_of_first_item, numbered_items, write_items
from anyner.corpora.wordform import WordRules, entities_in_words, fit_to_words, words_of
from anyner.document import Document
from anyner.errors import InvalidInputError


def _read(path: Path) -> Corpus:
    log = ProblemLog(path)
    return log.corpus(_documents(path, log))


def _documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    for line, item in numbered_items(path, log):
        match item:
            case {"sentence": [*words]} if all(isinstance(word, str) for word in words):
                try:
                    bare = Document.from_words(words)
                except InvalidInputError as error:
                    log.dropped(line, str(error))
                    continue
                yield annotated(bare, _claims(item, line, log), log, in_words=True)
            case _:
                log.dropped(line, 'no "sentence", a list of strings')


def _claims(item: dict[str, Any], line: int, log: ProblemLog) -> Iterator[Claim]:
    entries = item.get("ner") or []
    if not isinstance(entries, list):
        log.dropped(line, '"ner" is not a list')
        return
    for entry in entries:
        match entry:
            case {"index": [*places], "type": label} if all(type(place) is int for place in places):
                yield Claim(line, label, [(place, place + 1) for place in places])
            case _:
                log.dropped(line, f'entity {shown(entry)} has no "index", a list of whole numbers, and "type"')


def _write(documents: Iterable[Document], path: Path) -> None:
    write_items(path, map(_item, documents))


def _item(document: Document) -> dict[str, Any]:
    entities = [
        {"index": [place for start, end in fragments or () for place in range(start, end)], "type": entity.label}
        for entity, fragments in entities_in_words(document)
    ]
    return {"sentence": words_of(document), "ner": entities}


def _fit(document: Document) -> Fit:
    return fit_to_words(document, WordRules())


def _recognises(_: Path, head: str) -> bool:
    keys = keys_of_first_item(head)
    return keys is not None and {"sentence", "ner"} <= keys


W2NER = Format("w2ner", "JSON list, sentences with word indices (W2NER)", _read, _write, _fit, _recognises)
