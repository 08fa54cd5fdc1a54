"""Prodigy: JSON lines with `text`, `spans` and, for given words, `tokens`. Read like `jsonl`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anyner.corpora.corpus import Format
from anyner.corpora.formats.jsonl import documents_of, texts_of
from anyner.corpora.jsonfiles import Item, first_item, line_writer
from anyner.corpora.textform import TextRules
from anyner.corpora.wordform import entities_in_words, words_of
from anyner.document import Document


def _item(document: Document) -> Item:
    item: Item = ({"id": document.id} if document.id else {}) | {"text": document.text}
    if document.words is not None:
        item["tokens"] = _tokens(document)
    spans: list[dict[str, Any]] = []
    for entity, in_words in entities_in_words(document):
        span: dict[str, Any] = {"start": entity.start, "end": entity.end, "label": entity.label}
        if in_words:  # `token_end` is inclusive
            span |= {"token_start": in_words[0][0], "token_end": in_words[0][1] - 1}
        if entity.score is not None:
            span["score"] = round(entity.score, 6)
        spans.append(span)
    return item | {"spans": spans, "answer": "accept"}


def _tokens(document: Document) -> list[dict[str, Any]]:
    return [
        {"text": word, "start": start, "end": end, "id": number, "ws": document.text[end : end + 1].isspace()}
        for number, (word, (start, end)) in enumerate(zip(words_of(document), document.words or (), strict=True))
    ]


def _recognises(_: Path, head: str) -> bool:
    first = first_item(head)
    return first is not None and not first.listed and {"text", "spans"} <= first.keys and "entities" not in first.keys


PRODIGY = Format(
    "prodigy",
    documents_of,
    line_writer(_item),
    TextRules(discontinuous=False).fit,
    _recognises,
    keeps=frozenset({"ids", "scores", "words"}),
    signature=True,
    texts=texts_of,
)
