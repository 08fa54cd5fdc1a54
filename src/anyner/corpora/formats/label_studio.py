"""Label Studio: a JSON list of tasks, each with annotations by people or predictions by models, or its short form, JSON-MIN."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from anyner.corpora.annotation import annotated, name_of, same_but_white_space
from anyner.corpora.codeunits import Utf16Offsets
from anyner.corpora.corpus import Format, ProblemLog
from anyner.corpora.jsonfiles import Item, first_item, item_writer, numbered_items
from anyner.corpora.regions import LINK, Link, Region, claims_of
from anyner.corpora.textform import TextRules
from anyner.document import Document, Entity
from anyner.errors import InvalidInputError

_TASK_KEYS = {"data", "annotations", "predictions", "completions"}
"""`completions` was the name of annotations up to version 0.8."""
_SHORT_KEYS, _TIMES = frozenset({"annotator", "annotation_id"}), frozenset({"created_at", "updated_at"})
"""Keys of JSON-MIN: an annotation with its data and lists of regions in one object."""


def _documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    skipped: dict[str, list[int]] = {}
    for line, task in numbered_items(path, log):
        with log.dropping(line):
            yield _document(_in_full(task), line, log, skipped)
    for kind, lines in skipped.items():
        log.dropped(lines[0], f'results of the type "{kind}" are not read: {len(lines)} skipped')


def _in_full(task: object) -> object:
    """An annotation of JSON-MIN as a task with one annotation; a task unchanged."""
    if not isinstance(task, dict) or "data" in task or not task.keys() >= _SHORT_KEYS:
        return task
    data = {key: value for key, value in task.items() if isinstance(value, str) and key not in _TIMES}
    listed = [(key, value) for key, values in task.items() if isinstance(values, list) for value in values]
    results = [
        {"type": "labels" if isinstance(value, dict) and "labels" in value else key, "value": value} for key, value in listed
    ]
    return {"id": task.get("id"), "data": data, "annotations": [{"result": results}]}


def _document(task: object, line: int, log: ProblemLog, skipped: dict[str, list[int]]) -> Document:
    data = task.get("data") if isinstance(task, dict) else None
    if not isinstance(task, dict) or not isinstance(data, dict):
        raise InvalidInputError('expected a task with "data", an object')
    name = name_of(data.get("id"), task.get("id"))
    shown_name = f"task {name or 'without id'}"
    results = _results(task, shown_name, line, log)
    bare = Document(_text(data, results, shown_name), id=name)
    regions: list[Region] = []
    links: list[Link] = []
    for result in results:
        match result:
            case {"type": "labels", "value": {"start": start, "end": end, **value}}:
                labels = value.get("labels")
                named = result["id"] if isinstance(result.get("id"), str | int) else len(regions)
                listed = tuple(labels) if isinstance(labels, list) else ()
                regions.append(Region(named, listed, start, end, result.get("score"), value.get("text")))
            case {"type": "relation", "from_id": str() | int() as one, "to_id": str() | int() as other, "labels": [*labels]} if (
                LINK in labels
            ):
                links.append((one, other))
            case _:
                kind = result.get("type") if isinstance(result, dict) else None
                skipped.setdefault(kind if isinstance(kind, str) else "unknown", []).append(line)
    regions = _in_characters(regions, bare.text, shown_name, line, log)
    return annotated(bare, claims_of(regions, links, line), log, in_words=False)


def _results(task: Item, name: str, line: int, log: ProblemLog) -> list[Any]:
    """The results of the ground truth, else of the first annotation that was not cancelled.

    A task without the key `annotations` was never in Label Studio: it is meant for import, and its prediction is read.
    """
    made: list[Any] = next(
        (task[key] for key in ("annotations", "completions", "predictions") if isinstance(task.get(key), list)), []
    )
    made = [one for one in made if isinstance(one, dict) and isinstance(one.get("result"), list) and not one.get("was_cancelled")]
    if not made:
        raise InvalidInputError(f"{name} was not annotated")
    chosen = next((one for one in made if one.get("ground_truth")), made[0])
    if any(_spans(one) != _spans(chosen) for one in made):
        which = "the ground truth" if chosen.get("ground_truth") else "the first"
        log.kept(line, f"{name} has {len(made)} annotations that differ: {which} is read")
    found: list[Any] = chosen["result"]
    return found


def _spans(annotation: Item) -> set[str]:
    """The spans and labels of an annotation, without the ids of regions: equal if annotators agree."""
    values = (result["value"] for result in annotation["result"] if isinstance(result, dict) and "value" in result)
    return {str([value.get(key) for key in ("start", "end", "labels")]) for value in values if isinstance(value, dict)}


def _text(data: Item, results: Sequence[Any], name: str) -> str:
    """The annotated text. The labelling configuration, which is not in the file, may give it any key."""
    targets = [result.get("to_name") for result in results if isinstance(result, dict)]
    strings = {key: value for key, value in data.items() if isinstance(value, str) and key != "id"}
    for key in [*(target for target in targets if isinstance(target, str)), "text"]:
        if key in strings:
            return strings[key]
    if len(strings) != 1:
        raise InvalidInputError(f'{name}: cannot tell which key of "data" is the text: name it "text"')
    return next(iter(strings.values()))


def _in_characters(regions: list[Region], text: str, name: str, line: int, log: ProblemLog) -> list[Region]:
    """Some exports count UTF-16 units: the unit that agrees best with the texts of the regions is used."""
    offsets = Utf16Offsets(text)
    if offsets.same:
        return regions
    converted = [
        replace(region, start=offsets.character(region.start), end=offsets.character(region.end))
        if isinstance(region.start, int) and isinstance(region.end, int)
        else region
        for region in regions
    ]
    if sum(_agrees(region, text) for region in converted) <= sum(_agrees(region, text) for region in regions):
        return regions
    log.kept(line, f"{name}: the offsets count UTF-16 units: converted")
    return converted


def _agrees(region: Region, text: str) -> bool:
    if not isinstance(region.start, int) or not isinstance(region.end, int) or not isinstance(region.text, str):
        return False
    return same_but_white_space(region.text, text[max(region.start, 0) : max(region.end, 0)])


def _item(document: Document) -> Item:
    results = list(results_of(document.entities, document.text))
    data = {"text": document.text} | ({"id": document.id} if document.id else {})
    if any(entity.score is not None for entity in document.entities):
        return {"predictions": [{"model_version": "anyner", "result": results}], "data": data}
    return {"annotations": [{"result": results}], "data": data}


def results_of(entities: Iterable[Entity], text: str, from_name: str = "label", to_name: str = "text") -> Iterator[Item]:
    """A region for each fragment, and relations from each to the next. The names are those of the project's tags."""
    for number, entity in enumerate(entities, 1):
        names = [f"{number}-{place}" for place in range(1, len(entity.fragments) + 1)]
        score = {} if entity.score is None else {"score": round(entity.score, 6)}
        for name, (start, end) in zip(names, entity.fragments, strict=True):
            value = {"start": start, "end": end, "text": text[start:end], "labels": [entity.label]}
            yield {"id": name, "from_name": from_name, "to_name": to_name, "type": "labels", "value": value} | score
        for one, other in pairwise(names):
            yield {"type": "relation", "from_id": one, "to_id": other, "direction": "right", "labels": [LINK]}


def _recognises(_: Path, head: str) -> bool:
    first = first_item(head)
    if first is None or not first.listed or first.keys & {"documents", "passages"}:
        return False
    return bool(first.keys & _TASK_KEYS) or first.keys >= _SHORT_KEYS


LABEL_STUDIO = Format(
    "label-studio",
    _documents,
    item_writer(_item),
    TextRules().fit,
    _recognises,
    keeps=frozenset({"ids", "scores"}),
    signature=True,
)
