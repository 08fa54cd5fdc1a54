"""The span JSON of the DiffusionNER and Locate-and-Label repositories: a list of tokens with contiguous typed spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from anyner.corpora import nertags
from anyner.corpora.annotation import Claim, ProblemLog, is_unicode, shown
from anyner.corpora.corpus import Corpus, Fit, Format
from anyner.corpora.jsonlist import Item, ItemForm, keys_of_first_item, read_items, write_items
from anyner.corpora.wordform import WordRules, entities_in_words, fit_to_words, words_of
from anyner.document import Document


def _read(path: Path) -> Corpus:
    return read_items(path, ItemForm("tokens", _claims, _fields, pos_key="pos"))


def _fields(item: Item, line: int, log: ProblemLog) -> dict[str, str]:
    before, after = (_context(item, key, line, log) for key in ("ltokens", "rtokens"))
    return {"id": _first_of(item, "orig_id", "org_id"), "before": before, "after": after}


def _first_of(item: Item, *keys: str) -> str:
    return next((str(item[key]) for key in keys if type(item.get(key)) in {int, str} and is_unicode(str(item[key]))), "")


def _context(item: Item, key: str, line: int, log: ProblemLog) -> str:
    match item.get(key):
        case None:
            return ""
        case [*words] if all(isinstance(word, str) and is_unicode(word) for word in words):
            return " ".join(words)
    log.kept(line, f'"{key}" is not a list of strings, left out')
    return ""


def _claims(item: Item, line: int, log: ProblemLog) -> Iterator[Claim]:
    entries = item.get("entities") or []
    if item.get(nertags.KEY):
        log.dropped(line, f'"{nertags.KEY}" is read in JSON lines only: write one object a line, without [ and ]')
    if not isinstance(entries, list):
        log.dropped(line, '"entities" is not a list')
        return
    for entry in entries:
        match entry:
            case {"type": label, "start": start, "end": end}:
                yield Claim(line, label, [[start, end]])
            case _:
                log.dropped(line, f'entity {shown(entry)} has no "type", "start" and "end"')


def _write(documents: Iterable[Document], path: Path) -> None:
    write_items(path, map(_item, documents))


def _item(document: Document) -> dict[str, Any]:
    item: dict[str, Any] = {"tokens": words_of(document)}
    item["entities"] = [
        {"type": entity.label, "start": fragments[0][0], "end": fragments[0][1]}
        for entity, fragments in entities_in_words(document)
        if fragments
    ]
    if document.pos is not None:
        item["pos"] = list(document.pos)
    if document.id:
        item["orig_id"] = document.id
    if document.before:
        item["ltokens"] = document.before.split()
    if document.after:
        item["rtokens"] = document.after.split()
    return item


def _fit(document: Document) -> Fit:
    return fit_to_words(document, WordRules(discontinuous=False))


def _recognises(_: Path, head: str) -> bool:
    keys = keys_of_first_item(head)
    return keys is not None and ("tokens" in keys or not keys)


SPANS = Format("spans", "JSON list, tokens with typed spans (DiffusionNER)", _read, _write, _fit, _recognises)
