"""JSON lines, one document a line: `text` with fragments in characters, or `tokens` with fragments in tokens."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeGuard

from anyner.corpora import nertags
from anyner.corpora.annotation import Claim, ProblemLog, annotated, is_unicode, shown, with_tags
from anyner.corpora.corpus import Corpus, Fit, Format, Loss
from anyner.corpora.nertags import TaggedDocument, tagged_document, with_entities
from anyner.corpora.textfiles import numbered_lines, write_chunks
from anyner.corpora.wordform import WordRules, entities_in_words, fit_to_words, words_of
from anyner.document import Document
from anyner.errors import InvalidInputError

_ENTITY_KEYS = ("entities", "spans", "label", "labels")
_OTHER_ANNOTATION = ("ents", "ner", nertags.KEY, "tags", "iob", "annotations")
"""Keys in which other tools store entities that are not read here: reported, not dropped silently."""
_LABEL_KEYS = ("label", "entity_group", "type")
"""Keys of an entity's label: ours, that of transformers pipelines, that of many corpora. The first wins."""
_NOT_GOLD = ("reject", "ignore")
"""Answers of Prodigy: the annotator said that the spans are wrong, or did not judge them."""
_FREE_TEXT_KEYS = ("before", "after")


def _read(path: Path) -> Corpus:
    log = ProblemLog(path)
    return log.corpus(with_entities(list(_documents(path, log)), path, log))


def _documents(path: Path, log: ProblemLog) -> Iterator[Document | TaggedDocument]:
    for line, text in numbered_lines(path):
        if not text.strip():
            continue
        try:
            item = _item(text)
            if (answer := item.get("answer")) in _NOT_GOLD:
                log.dropped(line, f'a record with "answer": "{answer}" is not read')
            else:
                yield _document(item, line, log)
        except InvalidInputError as error:
            log.dropped(line, str(error))


def _item(text: str) -> dict[str, Any]:
    try:
        item = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"not valid JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError):
        raise InvalidInputError("not valid JSON: too deep or too large") from None
    if isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], dict):
        return {**item[1], "text": item[0]}  # the training tuples of spaCy 2
    if isinstance(item, dict):
        return item
    raise InvalidInputError("not a JSON object")


def _document(item: dict[str, Any], line: int, log: ProblemLog) -> Document | TaggedDocument:
    text, tokens, tags = item.get("text"), item.get("tokens"), _tags_of_tokens(item)
    if isinstance(text, str) and not _are_strings(tokens):
        # Prodigy puts tokens beside the text, as objects; entities count characters all the same.
        bare = Document(text, words=_given_words(item.get("words")))
        in_words = False
    elif isinstance(text, str) and tags is None:
        raise InvalidInputError('both "text" and "tokens": it is unclear which of them the fragments count')
    elif _are_strings(tokens):
        bare = Document.from_words(tokens)
        in_words = True
    else:
        raise InvalidInputError('neither "text", a string, nor "tokens", a list of strings')
    bare = with_tags(replace(bare, **_fields(item, line, log)), item.get("pos"), line, log)
    if tags is not None:
        _tell_unread(item, nertags.KEY, _OTHER_ANNOTATION, line, log)
        return tagged_document(bare, tags, line)
    return annotated(bare, _claims(item, line, log, in_words), log, in_words=in_words)


def _tags_of_tokens(item: dict[str, Any]) -> object:
    """The tags of a record with tokens, unless another key lists entities. Strings are none: WikiANN has `spans` of them."""
    has_entities = any(isinstance(item.get(key), list) and not _are_strings(item[key]) for key in _ENTITY_KEYS)
    return item.get(nertags.KEY) if _are_strings(item.get("tokens")) and not has_entities else None


def _are_strings(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _given_words(value: object) -> tuple[tuple[int, int], ...] | None:
    if value is None:
        return None
    match value:
        case list() if all(isinstance(w, list) and len(w) == 2 and type(w[0]) is type(w[1]) is int for w in value):
            return tuple((start, end) for start, end in value)
    raise InvalidInputError('"words" is not a list of [start, end] pairs')


def _fields(item: dict[str, Any], line: int, log: ProblemLog) -> dict[str, Any]:
    """The optional keys that are well formed; each of the others is a problem and is left out."""
    checks: dict[str, Callable[[Any], bool]] = {
        "id": _is_name,
        "doc": _is_name,
        "sentence": lambda value: type(value) is int,
        "coverage": lambda value: type(value) in {int, float} and 0 <= value <= 1,
        **dict.fromkeys(_FREE_TEXT_KEYS, lambda value: isinstance(value, str) and is_unicode(value)),
    }
    fields: dict[str, Any] = {}
    for key, check in checks.items():
        value = item.get(key)
        if value is None:
            continue
        if check(value):
            fields[key] = str(value) if check is _is_name else value
        else:
            log.kept(line, f'"{key}" is {shown(value)}, left out')
    labels = item.get("labels")
    if labels is None or _entity_key(item) == "labels":
        return fields
    if _are_strings(labels) and all(is_unicode(label) and label.strip() for label in labels):
        fields["labels"] = frozenset(labels)
    else:
        log.kept(line, '"labels" is not a list of labels, left out')
    return fields


def _is_name(value: object) -> bool:
    return type(value) is int or (isinstance(value, str) and is_unicode(value))


def _entity_key(item: dict[str, Any]) -> str | None:
    """Where the entities are: ours, Prodigy's, doccano's. A list of strings under `labels` is the labels annotated."""
    for key in _ENTITY_KEYS:
        if item.get(key) is not None:
            strings = key == "labels" and _are_strings(item[key]) and bool(item[key])
            return None if strings else key
    return None


def _claims(item: dict[str, Any], line: int, log: ProblemLog, in_words: bool) -> Iterator[Claim]:
    key = _entity_key(item)
    entries = [] if key is None else item[key]
    # `labels` that are no entities are told elsewhere
    _tell_unread(item, key or _ENTITY_KEYS[0], (*_ENTITY_KEYS[:-1], *_OTHER_ANNOTATION), line, log)
    if not isinstance(entries, list):
        log.dropped(line, f'"{key}" is not a list')
        return
    for entry in entries:
        match entry:
            case {"answer": answer} if answer in _NOT_GOLD:
                log.dropped(line, f'a span with "answer": "{answer}" is not read')
            case {"fragments": fragments}:
                yield Claim(line, _label(entry), fragments, entry.get("score"), entry.get("text"))
            case {"start": start, "end": end} | {"start_offset": start, "end_offset": end}:
                yield Claim(line, _label(entry), [[start, end]], entry.get("score"), entry.get("text"))
            case [start, end, label] if not in_words:  # of words, nobody could say whether the end is included
                yield Claim(line, label, [[start, end]])
            case _:
                log.dropped(line, f"entity {shown(entry)} is in no form known here")


def _label(entry: dict[str, Any]) -> object:
    return next((entry[key] for key in _LABEL_KEYS if entry.get(key) is not None), None)


def _tell_unread(item: dict[str, Any], read: str, keys: Iterable[str], line: int, log: ProblemLog) -> None:
    for key in keys:
        if key != read and item.get(key):
            log.dropped(line, f'"{key}" is not read: entities are looked for under "{read}"')


def _write_text(documents: Iterable[Document], path: Path) -> None:
    write_chunks(path, chain.from_iterable(_line(_text_item(one), (e.to_json() for e in one.entities)) for one in documents))


def _write_tokens(documents: Iterable[Document], path: Path) -> None:
    write_chunks(path, chain.from_iterable(_line(_token_item(one), _in_tokens(one)) for one in documents))


def _line(item: dict[str, Any], entities: Iterable[dict[str, Any]]) -> Iterator[str]:
    """One line, its entities one by one: where they nest deeply, their texts are far larger together than the document."""
    # quotes inside strings are escaped, so that the empty list is found once
    opened, closed = json.dumps(item | {"entities": []}, ensure_ascii=False, allow_nan=False).split('"entities": []')
    yield opened + '"entities": ['
    for number, entity in enumerate(entities):
        yield (", " if number else "") + json.dumps(entity, ensure_ascii=False, allow_nan=False)
    yield "]" + closed + "\n"


def _text_item(document: Document) -> dict[str, Any]:
    item = _without_entities(document)
    if document.words is not None:
        item["words"] = [list(word) for word in document.words]
    return item | _tags(document) | _context(document)


def _token_item(document: Document) -> dict[str, Any]:
    item = _without_entities(document)
    del item["text"]
    item["tokens"] = words_of(document)
    return item | _tags(document) | _context(document)


def _without_entities(document: Document) -> dict[str, Any]:
    return document.with_entities((), document.coverage, document.unknown).to_json()


def _in_tokens(document: Document) -> Iterator[dict[str, Any]]:
    for entity, fragments in entities_in_words(document):
        yield entity.to_json() | {"fragments": [list(fragment) for fragment in fragments or ()]}


def _tags(document: Document) -> dict[str, list[str]]:
    return {} if document.pos is None else {"pos": list(document.pos)}


def _context(document: Document) -> dict[str, str]:
    return {key: text for key in _FREE_TEXT_KEYS if (text := getattr(document, key))}


def _fit_text(document: Document) -> Fit:
    if any(entity.score is not None and not math.isfinite(entity.score) for entity in document.entities):
        entities = tuple(replace(entity, score=None) for entity in document.entities)
        return Fit(replace(document, entities=entities), (Loss("a score is not a finite number", kept=True),))
    return Fit(document)


def _fit_tokens(document: Document) -> Fit:
    text = _fit_text(document)
    words = fit_to_words(text.document or document, WordRules())
    return Fit(words.document, text.lost + words.lost)


def _recognises(_: Path, head: str) -> bool:
    start = head.lstrip()
    return start.startswith("{") or (start.startswith("[") and start[1:].lstrip().startswith('"'))


JSONL = Format("jsonl", "JSON lines, text and character fragments", _read, _write_text, _fit_text, _recognises)
JSONL_TOKENS = Format(
    "jsonl-tokens", "JSON lines, tokens and token fragments", _read, _write_tokens, _fit_tokens, lambda *_: False
)
