"""Tags to spans: IOB1, IOB2 and the IOBES family (BIOES, BMES, BILOU, BMEWO), told apart by the tags of a whole file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anyner.corpora.annotation import Claim, ProblemLog, annotated, shown
from anyner.document import Document

WELL_FORMED = re.compile(r"O|[BIESMLUW]-.+")
_SINGLE, _LAST, _INSIDE = frozenset("SUW"), frozenset("EL"), frozenset("IM")


@dataclass(frozen=True, slots=True)
class TaggedWord:
    line: int
    word: str
    tag: str
    """Well formed, or empty where the file has none that is."""
    pos: str = ""
    """Its part of speech, or empty where the file has none."""


@dataclass(frozen=True, slots=True)
class Span:
    label: str
    start: int
    end: int


def _parts(tag: str) -> tuple[str, str]:
    prefix, _, label = tag.partition("-")
    return prefix, label


def scheme_of(sentences: Sequence[Sequence[str]]) -> str:
    """`IOBES` if a tag of that family occurs; `IOB1` if `B-` only parts neighbours of one label; else `IOB2`."""
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


def with_tagged_entities(bare: Document, words: Sequence[TaggedWord], scheme: str, log: ProblemLog) -> Document:
    """The document with the entities that the tags of its words mark."""
    spans = list(entities_of(words, scheme, log))
    claims = [Claim(words[span.start].line, span.label, [(span.start, span.end)]) for span in spans]
    return annotated(bare, claims, log, in_words=True)


def entities_of(words: Sequence[TaggedWord], scheme: str, log: ProblemLog) -> Iterator[Span]:
    """The spans of well-formed tags. A span that opens or closes against the scheme is kept, and a problem."""
    start, open_label = 0, ""
    for place, word in enumerate(words):
        prefix, label = _parts(word.tag)
        continues = bool(open_label) and label == open_label and (prefix in _INSIDE or prefix in _LAST)
        if open_label and not continues:
            _tell_if_unclosed(words[place - 1], scheme, log)
            yield Span(open_label, start, place)
        if not continues:
            start, open_label = place, label
            if (prefix in _INSIDE and scheme != "IOB1") or prefix in _LAST:
                log.kept(word.line, f"tag {shown(word.tag)} opens an entity, which in {scheme} it should not")
        if open_label and (prefix in _LAST or prefix in _SINGLE):
            yield Span(open_label, start, place + 1)
            open_label = ""
    if open_label:
        _tell_if_unclosed(words[-1], scheme, log)
        yield Span(open_label, start, len(words))


def _tell_if_unclosed(last: TaggedWord, scheme: str, log: ProblemLog) -> None:
    if scheme == "IOBES":
        log.kept(last.line, f"tag {shown(last.tag)} is the last of an entity, which in IOBES it should not be")
