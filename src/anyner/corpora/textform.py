"""Fitting documents to formats that store the whole text with offsets into it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from anyner.corpora.annotation import shown
from anyner.corpora.corpus import ProblemLog
from anyner.document import Document, Entity
from anyner.errors import InvalidInputError


def line_break_trouble(label: str) -> str | None:
    return "holds a tab or a line break" if any(mark in label for mark in "\t\r\n") else None


@dataclass(frozen=True, slots=True)
class TextRules:
    """What a text format can hold; `*_trouble` says what is wrong with a text, a label or an entity, or None."""

    discontinuous: bool = True
    text_trouble: Callable[[str], str | None] = lambda _: None
    label_trouble: Callable[[str], str | None] = lambda _: None
    entity_trouble: Callable[[Entity], str | None] = lambda _: None

    def fit(self, document: Document, log: ProblemLog) -> Document:
        """The document with the entities that the rules allow; a text that they do not allow is refused."""
        if trouble := self.text_trouble(document.text):
            raise InvalidInputError(f"its text {trouble}")
        entities = []
        for entity in document.entities:
            if trouble := self._trouble(entity):
                log.dropped(0, f"entity {shown(entity.label)} {shown(entity.text)}: {trouble}")
            else:
                entities.append(entity)
        return replace(document, entities=tuple(entities)) if log.found else document

    def _trouble(self, entity: Entity) -> str | None:
        if trouble := self.label_trouble(entity.label):
            return f"its label {trouble}"
        if entity.discontinuous and not self.discontinuous:
            return "it is discontinuous"
        return self.entity_trouble(entity)
