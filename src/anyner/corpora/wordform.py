"""Fitting documents to formats that keep a list of words instead of a text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from anyner.corpora.annotation import Claim, ProblemLog, annotated, shown
from anyner.corpora.corpus import Fit, Loss
from anyner.document import Document, Entity
from anyner.fragments import Fragments

_WHITE_SPACE_WORD = re.compile(r"\S+")
_OTHER_SPACING = Loss("its text is not its words joined by single spaces", kept=True)


def _no_trouble(_: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class WordRules:
    """What a word format can hold; `*_trouble` says what is wrong with a word or a label, or None."""

    discontinuous: bool = True
    overlapping: bool = True
    no_words: bool = True
    word_trouble: Callable[[str], str | None] = _no_trouble
    label_trouble: Callable[[str], str | None] = _no_trouble


def words_of(document: Document) -> list[str]:
    """The given words as text."""
    return [document.text[start:end] for start, end in document.words or ()]


def entities_in_words(document: Document) -> list[tuple[Entity, Fragments | None]]:
    """Each entity with its fragments in words, or None where it does not sit on the given words."""
    words = document.words or ()
    first = {start: number for number, (start, _) in enumerate(words)}
    past = {end: number + 1 for number, (_, end) in enumerate(words)}
    placed: list[tuple[Entity, Fragments | None]] = []
    for entity in document.entities:
        fragments = tuple((first[s], past[e]) for s, e in entity.fragments if s in first and e in past)
        placed.append((entity, fragments if len(fragments) == len(entity.fragments) else None))
    return placed


def fit_to_words(document: Document, rules: WordRules) -> Fit:
    """The document as words joined by single spaces, with the entities that sit on them and that the rules allow.

    A document without given words gets its white-space words.
    """
    if document.words is None:
        spans = tuple(match.span() for match in _WHITE_SPACE_WORD.finditer(document.text))
        document = replace(document, words=spans)
    words = words_of(document)
    if not words and not rules.no_words:
        return Fit(None, (Loss("it has no words", kept=False),))
    for word in words:
        if trouble := rules.word_trouble(word):
            return Fit(None, (Loss(f"word {shown(word)} {trouble}", kept=False),))
    lost = [] if " ".join(words) == document.text else [_OTHER_SPACING]
    claims, dropped = _allowed(entities_in_words(document), rules)
    log = ProblemLog("")
    joined = Document.from_words(words)
    bare = replace(document, text=joined.text, words=joined.words, entities=())
    fitted = annotated(bare, claims, log, in_words=True)
    lost += [*dropped, *(Loss(problem.what, problem.kept) for problem in log.found)]
    return Fit(fitted, tuple(lost))


def _allowed(placed: list[tuple[Entity, Fragments | None]], rules: WordRules) -> tuple[list[Claim], list[Loss]]:
    claims: list[Claim] = []
    lost: list[Loss] = []
    taken_to = 0  # entities come in reading order, so the end of the last one kept is all that is taken
    for entity, fragments in placed:
        trouble = rules.label_trouble(entity.label)
        if trouble:
            trouble = f"its label {trouble}"
        elif fragments is None:
            trouble = "it does not sit on word boundaries"
        elif len(fragments) > 1 and not rules.discontinuous:
            trouble = "it is discontinuous"
        elif not rules.overlapping and entity.start < taken_to:
            trouble = "it overlaps another entity"
        if trouble:
            lost.append(Loss(f"entity {shown(entity.label)} {shown(entity.text)}: {trouble}", kept=False))
        else:
            taken_to = entity.end
            claims.append(Claim(0, entity.label, fragments, entity.score))
    return claims, lost
