"""Raw annotations -> valid documents: each entity is checked; wrong ones become problems, the rest is kept."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from anyner.corpora.corpus import Corpus, Problem
from anyner.document import Document, Entity
from anyner.errors import InvalidInputError
from anyner.fragments import Fragments, canonical_fragments, joined_over_white_space


class ProblemLog:
    """Collects the problems of one file in the order they are met."""

    def __init__(self, path: Path | str) -> None:
        self.file = str(path)
        self.found: list[Problem] = []

    def kept(self, line: int, what: str) -> None:
        self.found.append(Problem(self.file, line, what, kept=True))

    def dropped(self, line: int, what: str) -> None:
        self.found.append(Problem(self.file, line, what, kept=False))

    def corpus(self, documents: Iterable[Document]) -> Corpus:
        """The corpus of the documents; an iterator is run to its end before the problems are taken."""
        listed = tuple(documents)
        return Corpus(listed, tuple(self.found))


@dataclass(frozen=True, slots=True)
class Claim:
    """An entity as a file states it, before any check; the types are those of a well-formed file."""

    line: int
    label: object
    fragments: object
    score: object = None
    text: object = None


def annotated(bare: Document, claims: Iterable[Claim], log: ProblemLog, *, in_words: bool) -> Document:
    """The document with every claimed entity that fits it; fragments count its words or its characters."""
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


def with_tags(bare: Document, tags: object, line: int, log: ProblemLog) -> Document:
    """The document with the part-of-speech tags that a file gives for its words; tags that do not fit are left out."""
    if tags is None:
        return bare
    try:
        if not isinstance(tags, list):
            raise InvalidInputError(f"{shown(tags)} is not a list of part-of-speech tags")
        return replace(bare, pos=tuple(tags))
    except InvalidInputError as error:
        log.kept(line, f'"pos": {error}, left out')
        return bare


def shown(value: object) -> str:
    """A value on one short line, for a message."""
    plain = ascii_surrogates(repr(value))
    return plain if len(plain) <= 80 else plain[:77] + "..."


def ascii_surrogates(text: str) -> str:
    """The text with lone surrogates written as escapes, so that it can be printed."""
    return text.encode(errors="backslashreplace").decode()


def is_unicode(text: str) -> bool:
    """Whether the text can be written as UTF-8: it has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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
        log.kept(claim.line, f"entity {claim.label!r}: its copy {shown(claim.text)} differs from the text {shown(text)}")
    return Entity(claim.label, fragments, _checked_score(claim, log))


def _checked_fragments(claim: Claim, text: str, words: Fragments | None, log: ProblemLog) -> Fragments:
    length, unit = (len(text), "characters") if words is None else (len(words), "words")
    if not isinstance(claim.fragments, list | tuple) or not claim.fragments:
        raise InvalidInputError("there is no list of fragments")
    pairs: list[tuple[int, int]] = []
    for pair in claim.fragments:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or any(type(place) is not int for place in pair):
            raise InvalidInputError(f"fragment {shown(pair)} is not a pair of whole numbers")
        start, end = pair
        if end <= start:
            raise InvalidInputError(f"fragment [{start}, {end}) is {'empty' if start == end else 'reversed'}")
        if start < 0 or end > length:
            raise InvalidInputError(f"fragment [{start}, {end}) is out of range 0 to {length} in {unit} of {shown(text)}")
        pairs.append((start, end))
    fragments = canonical_fragments(sorted(pairs))
    if pairs != sorted(pairs):
        log.kept(claim.line, f"entity {claim.label!r} {shown(claim.fragments)}: fragments out of order, sorted")
    return fragments


def _checked_score(claim: Claim, log: ProblemLog) -> float | None:
    if claim.score is None:
        return None
    if isinstance(claim.score, int | float) and not isinstance(claim.score, bool) and math.isfinite(claim.score):
        return float(claim.score)
    log.kept(claim.line, f"entity {claim.label!r}: the score {shown(claim.score)} is not a number, left out")
    return None
