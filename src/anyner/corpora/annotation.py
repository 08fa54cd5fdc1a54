"""Raw annotations -> valid documents: every entity is validated; invalid ones become problems, the rest is kept."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from anyner.corpora.corpus import ProblemLog
from anyner.document import Document, Entity
from anyner.errors import InvalidInputError
from anyner.fragments import Fragments, canonical_fragments, joined_over_white_space

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Claim:
    """An entity as a file states it, not yet validated."""

    line: int
    label: object
    fragments: object
    score: object = None
    text: object = None


def annotated(bare: Document, claims: Iterable[Claim], log: ProblemLog, *, in_words: bool) -> Document:
    """The document with all valid entities; fragments count its words or its characters."""
    entities: dict[tuple[str, Fragments], Entity] = {}
    for claim in claims:
        try:
            entity = _checked(claim, bare, log, in_words)
        except InvalidInputError as error:
            log.dropped(claim.line, f"entity {shown(claim.label)} {shown(claim.fragments)}: {error}")
            continue
        if entity.key in entities:
            log.kept(claim.line, f"duplicate entity {shown(claim.label)} {shown(claim.fragments)}: counted once")
        else:
            entities[entity.key] = entity
    return replace(bare, entities=tuple(entities.values())) if entities else bare


def shown(value: object) -> str:
    """A value on one short line, for a message."""
    plain = repr(value).encode(errors="backslashreplace").decode()  # a lone surrogate cannot be printed
    return plain if len(plain) <= 80 else plain[:77] + "..."


def is_unicode(text: str) -> bool:
    """Whether the text can be written as UTF-8: it has no lone surrogate."""
    return _LONE_SURROGATE.search(text) is None


def name_of(*values: object) -> str:
    """The first of the values that can be the id of a document; empty if none can."""
    return next((str(value) for value in values if type(value) is int or (isinstance(value, str) and is_unicode(value))), "")


def same_but_white_space(one: str, other: str) -> bool:
    return one.split() == other.split()


def _checked(claim: Claim, bare: Document, log: ProblemLog, in_words: bool) -> Entity:
    if not isinstance(claim.label, str) or not claim.label.strip():
        raise InvalidInputError("the label is missing, empty or not a string")
    if not is_unicode(claim.label):
        raise InvalidInputError("the label has a lone surrogate")
    words = (bare.words or ()) if in_words else None
    fragments = _checked_fragments(claim, bare.text, words, log)
    if words is not None:
        fragments = tuple((words[start][0], words[end - 1][1]) for start, end in fragments)
    fragments = joined_over_white_space(fragments, bare.text)
    text = " ".join(bare.text[start:end] for start, end in fragments)
    if isinstance(claim.text, str) and not same_but_white_space(claim.text, text):
        log.kept(claim.line, f"entity {claim.label!r}: annotated text {shown(claim.text)} differs from the text {shown(text)}")
    return Entity(claim.label, fragments, _checked_score(claim, log))


def _checked_fragments(claim: Claim, text: str, words: Fragments | None, log: ProblemLog) -> Fragments:
    length, unit = (len(text), "characters") if words is None else (len(words), "words")
    if not isinstance(claim.fragments, list | tuple) or not claim.fragments:
        raise InvalidInputError("expected a non-empty list of fragments")
    for pair in claim.fragments:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or any(type(place) is not int for place in pair):
            raise InvalidInputError(f"fragment {shown(pair)} is not a pair of whole numbers")
        start, end = pair
        if start < 0 or end > length:
            raise InvalidInputError(f"fragment [{start}, {end}) is out of range: {shown(text)} has {length} {unit}")
    pairs = [(start, end) for start, end in claim.fragments]
    fragments = canonical_fragments(sorted(pairs))
    if pairs != sorted(pairs):
        log.kept(claim.line, f"entity {claim.label!r} {shown(claim.fragments)}: fragments out of order, sorted")
    return fragments


def _checked_score(claim: Claim, log: ProblemLog) -> float | None:
    if claim.score is None:
        return None
    if isinstance(claim.score, int | float) and not isinstance(claim.score, bool) and math.isfinite(claim.score):
        return float(claim.score)
    log.kept(claim.line, f"entity {claim.label!r}: score: expected a finite number, got {shown(claim.score)}; left out")
    return None
