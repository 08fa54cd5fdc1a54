"""JSON lines, one document a line: `text` with fragments in characters, or `tokens` with fragments in tokens.

A file that is one JSON list of such documents is read, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

from anyner.corpora import nertags
from anyner.corpora.annotation import Claim, annotated, is_unicode, shown
from anyner.corpora.corpus import EVERYTHING, Format, ProblemLog
from anyner.corpora.jsonfiles import first_item, json_line, numbered_items, parsed
from anyner.corpora.nertags import TagReader
from anyner.corpora.regions import LINK, Link, Region, claims_of
from anyner.corpora.tags import TaggedDocument, tags_to_entities
from anyner.corpora.textfiles import Position, chunk_writer, head_of, numbered_lines
from anyner.corpora.textform import TextRules
from anyner.corpora.wordform import WordRules, entities_in_words, words_of
from anyner.document import Document
from anyner.errors import InvalidInputError

_ENTITY_KEYS = ("entities", "spans", "label", "labels")
_OTHER_ANNOTATION = ("ents", "ner", nertags.KEY, "tags", "iob", "annotations")
"""Keys under which other tools store entities: not read, but reported."""
_ANNOTATION = frozenset((*_ENTITY_KEYS, *_OTHER_ANNOTATION, "relations", "answer"))
_READ = frozenset(("id", "text", "tokens", "words", "doc", "sentence", "before", "after", "coverage", "unknown"))
_LABEL_KEYS = ("label", "entity_group", "type")
"""Keys of an entity's label: ours, that of transformers pipelines, that of many corpora. The first one present wins."""
_NOT_GOLD = ("reject", "ignore")
"""Answers in Prodigy: the annotator rejected the spans or skipped them."""
_LIST = re.compile(r'\s*\[\s*(?:\{|\[\s*")')
"""The beginning of a list of objects, or of the training tuples of spaCy 2; a line of JSON lines may be such a tuple."""


def documents_of(path: Path, log: ProblemLog) -> Iterator[Document]:
    """The documents of JSON lines, in our form or that of another tool."""
    return tags_to_entities(list(_records(path, log)), log)


def _records(path: Path, log: ProblemLog) -> Iterator[Document | TaggedDocument]:
    reader = TagReader(path, log)
    for line, value in _values(path, log, numbered_lines(path)):
        with log.dropping(line):
            item = _item(value)
            if (answer := item.get("answer")) in _NOT_GOLD:
                raise InvalidInputError(f'a record with "answer": "{answer}" is not read')
            meta = {key: value for key, value in item.items() if key not in _ANNOTATION and not key.startswith("_")}
            yield _with_meta(document_of(item, line, log, reader), meta, line, log)


def texts_of(path: Path, log: ProblemLog, position: Position) -> Iterator[Document]:
    """Streams the documents of JSON lines without their entities, which are ignored."""
    reader = TagReader(path, log)
    for line, value in _values(path, log, numbered_lines(path, position, log.dropped)):
        with log.dropping(line):
            item = _item(value)
            bare = {key: value for key, value in item.items() if key not in _ANNOTATION}
            meta = {key: value for key, value in item.items() if not _annotates(item, key)}
            document = _with_meta(document_of(bare, line, log, reader), meta, line, log)
            yield document.bare if isinstance(document, TaggedDocument) else document


def _annotates(item: dict[str, Any], key: str) -> bool:
    """Whether a key holds entities or an annotator's answer. Other tools use the same names, as in `"label": "positive"`."""
    value = item[key]
    if key == "answer":
        return value in ("accept", *_NOT_GOLD)
    topics = key != "labels" and _are_strings(value) and not item.get("tokens")
    return key == "entities" or (key in _ANNOTATION and isinstance(value, list) and not topics)


def _with_meta(
    document: Document | TaggedDocument, item: dict[str, Any], line: int, log: ProblemLog
) -> Document | TaggedDocument:
    """Adds all unread keys as `meta`. Keys that begin with an underscore are private to other tools: corpora do not keep them."""
    meta = {key: value for key, value in item.items() if key not in _READ}
    unwritable = [key for key, value in meta.items() if not _is_writable(key, value)]
    if unwritable:
        log.kept(line, f"{shown(', '.join(unwritable))} cannot be written as JSON: left out")
    meta = {key: value for key, value in meta.items() if key not in unwritable}
    if not meta:
        return document
    if isinstance(document, TaggedDocument):
        return replace(document, bare=replace(document.bare, meta=meta))
    return replace(document, meta=meta)


def _is_writable(key: str, value: object) -> bool:
    try:
        json_line({key: value})
    except (ValueError, RecursionError):
        return False
    return True


def _values(path: Path, log: ProblemLog, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Any]]:
    """The values of the lines, or those of a file that is one list, with their lines."""
    if _LIST.match(head_of(path)):
        yield from numbered_items(path, log)
        return
    for line, text in lines:
        if text.strip():
            with log.dropping(line):
                yield line, parsed(text)


def _item(item: Any) -> dict[str, Any]:
    if isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], dict):
        return {**item[1], "text": item[0]}  # the training tuples of spaCy 2
    if isinstance(item, dict):
        return item
    raise InvalidInputError(f"not a JSON object: {shown(item)}")


def document_of(item: dict[str, Any], line: int, log: ProblemLog, reader: TagReader) -> Document | TaggedDocument:
    """The document of one record."""
    text, tokens, tags = item.get("text"), item.get("tokens"), _tags_of_tokens(item)
    if isinstance(text, str) and (not tokens or not _are_strings(tokens)):
        # Prodigy puts tokens beside the text, as objects; entities count characters all the same.
        words = _words(item, line, log)
        bare = Document(text, words=_prodigy_words(tokens) if words is None else words)
        in_words = False
    elif isinstance(text, str) and tags is None:
        raise InvalidInputError('both "text" and "tokens": it is unclear which of them the fragments refer to')
    elif _are_strings(tokens):
        bare = Document.from_words(tokens)
        in_words = True
    else:
        raise InvalidInputError('expected "text", a string, or "tokens", a list of strings')
    bare = replace(bare, **_fields(item, line, log))
    if tags is not None:
        _log_unread(item, nertags.KEY, _OTHER_ANNOTATION, line, log)
        return reader.tagged(bare, tags, line)
    return annotated(bare, _claims(item, line, log, in_words), log, in_words=in_words)


def _words(item: dict[str, Any], line: int, log: ProblemLog) -> Any:
    """Word boundaries; a list of anything else is a key of another tool."""
    words = item.get("words")
    if words is None or (isinstance(words, list) and all(isinstance(word, list) for word in words)):
        return words
    log.kept(line, f'"words" is {shown(words)}, not pairs of character positions: left out')
    return None


def _prodigy_words(tokens: object) -> Any:
    """Boundaries of tokens that are objects beside a text."""
    if not isinstance(tokens, list) or not all(isinstance(token, dict) for token in tokens):
        return None
    return [(token.get("start"), token.get("end")) for token in tokens]


def _tags_of_tokens(item: dict[str, Any]) -> object:
    """The tags of a record with tokens, unless another key lists entities. Strings are not entities: `spans` of WikiANN."""
    has_entities = any(isinstance(item.get(key), list) and not _are_strings(item[key]) for key in _ENTITY_KEYS)
    return item.get(nertags.KEY) if _are_strings(item.get("tokens")) and not has_entities else None


def _are_strings(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and is_unicode(value)


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_name(value: object) -> bool:
    return type(value) is int or _is_text(value)


_FIELDS: dict[str, tuple[Callable[[Any], bool], Callable[[Any], Any]]] = {
    "id": (_is_name, str),
    "doc": (_is_name, str),
    "sentence": (lambda value: type(value) is int, int),
    "coverage": (_is_share, float),
    "unknown": (_is_share, float),
    "before": (_is_text, str),
    "after": (_is_text, str),
    "labels": (lambda value: _are_strings(value) and all(is_unicode(label) and label.strip() for label in value), frozenset),
}
"""Optional keys: a check of the value, and its conversion."""


def _fields(item: dict[str, Any], line: int, log: ProblemLog) -> dict[str, Any]:
    """The valid optional keys; each invalid one is reported and left out."""
    fields: dict[str, Any] = {}
    for key, (is_good, converted) in _FIELDS.items():
        value = item.get(key)
        if value is None or key == _entity_key(item):
            continue
        if is_good(value):
            fields[key] = converted(value)
        else:
            log.kept(line, f'"{key}": invalid value {shown(value)}, left out')
    return fields


def _entity_key(item: dict[str, Any]) -> str | None:
    """The key of the entities: ours, Prodigy's or doccano's. A list of strings under `labels` names the annotated labels."""
    for key in _ENTITY_KEYS:
        if item.get(key) is not None:
            strings = key == "labels" and _are_strings(item[key]) and bool(item[key])
            return None if strings else key
    return None


def _claims(item: dict[str, Any], line: int, log: ProblemLog, in_words: bool) -> Iterator[Claim]:
    key = _entity_key(item)
    entries = [] if key is None else item[key]
    # `labels` that are not entities are checked in `_fields`
    _log_unread(item, key or _ENTITY_KEYS[0], (*_ENTITY_KEYS[:-1], *_OTHER_ANNOTATION), line, log)
    if not isinstance(entries, list):
        log.dropped(line, f'"{key}" is not a list')
        return
    links = list(_links(item.get("relations"), line, log))
    regions = [_region(entry) for entry in entries if isinstance(entry, dict) and "start_offset" in entry] if links else []
    yield from claims_of(regions, links, line)
    for entry in entries:
        match entry:
            case {"start_offset": _} if links:
                pass
            case {"answer": answer} if answer in _NOT_GOLD:
                log.dropped(line, f'a span with "answer": "{answer}" is not read')
            case {"fragments": fragments}:
                yield Claim(line, _label(entry), fragments, entry.get("score"), entry.get("text"))
            case {"start": start, "end": end} | {"start_offset": start, "end_offset": end}:
                yield Claim(line, _label(entry), [[start, end]], entry.get("score"), entry.get("text"))
            case [start, end, label] if not in_words:  # with words it is unclear whether the end is inclusive
                yield Claim(line, label, [[start, end]])
            case _:
                log.dropped(line, f'entity {shown(entry)}: unknown form; expected "fragments", or "start" and "end"')


def _links(relations: object, line: int, log: ProblemLog) -> Iterator[Link]:
    """The relations of doccano that join fragments of a discontinuous entity."""
    for relation in relations if isinstance(relations, list) else [relations] if relations else []:
        match relation:
            case {"from_id": int() | str() as one, "to_id": int() | str() as other, "type": type_} if type_ == LINK:
                yield one, other
            case _:
                log.dropped(line, f'a relation is not read: only those of the type "{LINK}" join fragments of an entity')


def _region(entry: dict[str, Any]) -> Region:
    name = entry.get("id")
    named = name if isinstance(name, int | str) else id(entry)
    return Region(named, (_label(entry),), entry["start_offset"], entry.get("end_offset"), entry.get("score"), entry.get("text"))


def _label(entry: dict[str, Any]) -> object:
    return next((entry[key] for key in _LABEL_KEYS if entry.get(key) is not None), None)


def _log_unread(item: dict[str, Any], read: str, keys: Iterable[str], line: int, log: ProblemLog) -> None:
    for key in keys:
        if key != read and item.get(key):
            log.dropped(line, f'"{key}" is not read: entities are looked for under "{read}"')


def record_of(document: Document) -> dict[str, Any]:
    """The complete record of a document."""
    return _without_entities(document) | _context(document) | {"entities": [entity.to_json() for entity in document.entities]}


def _text_chunks(documents: Iterable[Document]) -> Iterator[str]:
    for document in documents:
        yield from _line(_without_entities(document), document, (entity.to_json() for entity in document.entities))


def _token_chunks(documents: Iterable[Document]) -> Iterator[str]:
    for document in documents:
        item = _without_entities(document) | {"tokens": words_of(document)}
        del item["text"]
        item.pop("words", None)
        placed = entities_in_words(document)
        yield from _line(item, document, (entity.to_json() | {"fragments": fragments} for entity, fragments in placed))


def _without_entities(document: Document) -> dict[str, Any]:
    return document.with_entities((), document.coverage, document.unknown).to_json()


def _context(document: Document) -> dict[str, str]:
    return {key: text for key in ("before", "after") if (text := getattr(document, key))}


def _line(item: dict[str, Any], document: Document, entities: Iterable[dict[str, Any]]) -> Iterator[str]:
    """One line, entity by entity: if they nest deeply, their texts together are far larger than the document."""
    item |= _context(document)
    # only strings come before the list, and their quotes are escaped: the first match is the list
    opened, closed = json_line(item).split('"entities": []', 1)
    yield opened + '"entities": ['
    for number, entity in enumerate(entities):
        yield (", " if number else "") + json.dumps(entity, ensure_ascii=False, allow_nan=False)
    yield "]" + closed + "\n"


def _recognises(_: Path, head: str) -> bool:
    start, first = head.lstrip(), first_item(head)
    if first is not None and first.listed:
        return "text" in first.keys and "tokens" not in first.keys  # `spans` is a list of objects with tokens
    return start.startswith("{") or (start.startswith("[") and start[1:].lstrip().startswith('"')) or bool(_LIST.match(head))


_RULES = TextRules()
JSONL = Format("jsonl", documents_of, chunk_writer(_text_chunks), _RULES.fit, _recognises, keeps=EVERYTHING, texts=texts_of)
JSONL_TOKENS = Format(
    "jsonl-tokens",
    documents_of,
    chunk_writer(_token_chunks),
    lambda document, log: WordRules().fit(_RULES.fit(document, log), log),
    lambda *_: False,
    keeps=EVERYTHING,
    texts=texts_of,
)
