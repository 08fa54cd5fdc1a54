"""The JSON of the W2NER repository: a list of sentences whose entities list the words they consist of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from anyner.corpora.annotation import Claim, ProblemLog, shown
from anyner.corpora.corpus import Corpus, Fit, Format
from anyner.corpora.jsonlist import Item, ItemForm, keys_of_first_item, read_items, write_items
from anyner.corpora.wordform import WordRules, entities_in_words, fit_to_words, words_of
from anyner.document import Document


def _read(path: Path) -> Corpus:
    return read_items(path, ItemForm("sentence", _claims))


def _claims(item: Item, line: int, log: ProblemLog) -> Iterator[Claim]:
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
