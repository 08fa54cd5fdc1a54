"""Tags to entities and back: IOB1, IOB2 and the IOBES family (BIOES, BMES, BILOU, BMEWO), detected from all tags of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anyner.corpora.annotation import Claim, annotated, shown
from anyner.corpora.corpus import ProblemLog
from anyner.corpora.wordform import entities_in_words
from anyner.document import Document

WELL_FORMED = re.compile(r"O|[BIESMLUW]-.+")
_SINGLE, _LAST, _INSIDE = frozenset("SUW"), frozenset("EL"), frozenset("IM")


@dataclass(frozen=True, slots=True)
class TaggedDocument:
    """A document whose entities are still tags: their scheme is detected from all tags of the file."""

    bare: Document
    tags: tuple[str, ...]
    """One for each word: well formed, or empty, which counts as O."""
    lines: tuple[int, ...]
    """Where the tags are in the file."""


def checked_tag(tag: str, line: int, log: ProblemLog) -> str:
    """The tag, or an empty string if it is malformed."""
    if WELL_FORMED.fullmatch(tag):
        return tag
    log.dropped(line, f"tag {shown(tag)} is malformed, read as O")
    return ""


def tags_to_entities(read: Sequence[Document | TaggedDocument], log: ProblemLog) -> Iterator[Document]:
    """The documents of a file in order, with tags converted to entities."""
    scheme = _scheme([one.tags for one in read if isinstance(one, TaggedDocument)])
    for one in read:
        if isinstance(one, TaggedDocument):
            yield annotated(one.bare, list(_claims(one, scheme, log)), log, in_words=True)
        else:
            yield one


def iob2_tags(document: Document) -> list[str]:
    """A tag for each given word; entities must be contiguous and must not overlap."""
    tags = ["O"] * len(document.words or ())
    for entity, fragments in entities_in_words(document):
        for start, end in fragments:
            tags[start:end] = [f"B-{entity.label}"] + [f"I-{entity.label}"] * (end - start - 1)
    return tags


def _parts(tag: str) -> tuple[str, str]:
    prefix, _, label = tag.partition("-")
    return prefix, label


def _scheme(sentences: Sequence[Sequence[str]]) -> str:
    """`IOBES` if a tag of that family occurs; `IOB1` if `B-` only separates adjacent entities of one label; else `IOB2`."""
    prefixes = {_parts(tag)[0] for tags in sentences for tag in tags}
    if prefixes - {"", "O", "B", "I"}:
        return "IOBES"
    opened_by_inside = False
    for tags in sentences:
        previous = ""
        for tag in tags:
            prefix, label = _parts(tag)
            if prefix == "B" and label != previous:
                return "IOB2"
            opened_by_inside |= prefix == "I" and label != previous
            previous = label
    return "IOB1" if opened_by_inside else "IOB2"


def _claims(document: TaggedDocument, scheme: str, log: ProblemLog) -> Iterator[Claim]:
    """The spans of well-formed tags. A span that starts or ends against the scheme is kept and reported."""
    start, open_label = 0, ""
    lines = document.lines
    for place, tag in enumerate((*document.tags, "")):
        prefix, label = _parts(tag)
        continues = bool(open_label) and label == open_label and (prefix in _INSIDE or prefix in _LAST)
        if open_label and not continues:
            if scheme == "IOBES":
                last = shown(document.tags[place - 1])
                log.kept(lines[place - 1], f"tag {last} ends an entity, which is invalid in IOBES")
            yield Claim(lines[start], open_label, [(start, place)])
        if not continues:
            start, open_label = place, label
            if (prefix in _INSIDE and scheme != "IOB1") or prefix in _LAST:
                log.kept(lines[place], f"tag {shown(tag)} starts an entity, which is invalid in {scheme}")
        if open_label and (prefix in _LAST or prefix in _SINGLE):
            yield Claim(lines[start], open_label, [(start, place + 1)])
            open_label = ""
