"""doccano: JSON lines with `label` triples, or with `entities` and `relations`. Read like `jsonl`."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from anyner.corpora.corpus import Format
from anyner.corpora.formats.jsonl import documents_of, texts_of
from anyner.corpora.jsonfiles import FirstItem, Item, first_item, line_writer
from anyner.corpora.regions import LINK
from anyner.corpora.textform import TextRules
from anyner.document import Document


def _item(document: Document) -> Item:
    labels = [[entity.start, entity.end, entity.label] for entity in document.entities]
    return _begin(document) | {"label": labels}


def _item_with_relations(document: Document) -> Item:
    """A discontinuous entity becomes an entity for each fragment, with relations from each to the next."""
    entities: list[Item] = []
    relations: list[Item] = []
    for entity in document.entities:
        numbers = range(len(entities), len(entities) + len(entity.fragments))
        for number, (start, end) in zip(numbers, entity.fragments, strict=True):
            entities.append({"id": number, "label": entity.label, "start_offset": start, "end_offset": end})
        for one, other in pairwise(numbers):
            relations.append({"id": len(relations), "from_id": one, "to_id": other, "type": LINK})
    return _begin(document) | {"entities": entities, "relations": relations}


def _begin(document: Document) -> Item:
    return ({"id": document.id} if document.id else {}) | {"text": document.text}


def _recognises(_: Path, head: str) -> bool:
    first = first_item(head)
    if first is None or first.listed or "text" not in first.keys or first.keys & {"entities", "spans"}:
        return False
    return "label" in first.keys or _has_triples(first)


def _has_triples(first: FirstItem) -> bool:
    """Whether `labels` lists triples; a list of strings names the annotated labels of a `jsonl` document."""
    labels = first.item.get("labels")
    return isinstance(labels, list) and not (labels and all(isinstance(label, str) for label in labels))


def _recognises_relations(_: Path, head: str) -> bool:
    first = first_item(head)
    if first is None or first.listed or not {"text", "entities"} <= first.keys:
        return False
    entities = first.item.get("entities")
    entity = entities[0] if isinstance(entities, list) and entities else None
    return "relations" in first.keys or (isinstance(entity, dict) and "start_offset" in entity)


DOCCANO = Format(
    "doccano",
    documents_of,
    line_writer(_item),
    TextRules(discontinuous=False).fit,
    _recognises,
    keeps=frozenset({"ids"}),
    signature=True,
    texts=texts_of,
)
DOCCANO_RELATIONS = Format(
    "doccano-relations",
    documents_of,
    line_writer(_item_with_relations),
    TextRules().fit,
    _recognises_relations,
    keeps=frozenset({"ids"}),
    signature=True,
    texts=texts_of,
)
