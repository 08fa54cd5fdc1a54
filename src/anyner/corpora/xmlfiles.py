"""Untrusted XML as a stream of elements; entity declarations, external entities and deep nesting are refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from anyner.corpora.corpus import ProblemLog
from anyner.corpora.textfiles import numbered_lines
from anyner.errors import AnynerError, InvalidInputError

_DEEPEST = 30


@dataclass(slots=True)
class Element:
    """An element with its content; `text` is the text directly in it."""

    name: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, name: str) -> list[Element]:
        return [child for child in self.children if child.name == name]

    def text_of(self, name: str) -> str | None:
        """The text of the first child with this name."""
        return next((child.text for child in self.children if child.name == name), None)


class _Builder:
    """Builds the elements with one name and ignores everything outside them."""

    def __init__(self, wanted: str, parser: expat.XMLParserType) -> None:
        self._wanted, self._parser = wanted, parser
        self._depth = 0
        self._open: list[Element] = []
        self._texts: list[list[str]] = []
        self.done: list[Element] = []
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        parser.ExternalEntityRefHandler = self._external

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise InvalidInputError(f"elements are nested more than {_DEEPEST} deep")
        if self._open or name == self._wanted:
            element = Element(name, attributes, self._parser.CurrentLineNumber)
            if self._open:
                self._open[-1].children.append(element)
            self._open.append(element)
            self._texts.append([])

    def _end(self, _: str) -> None:
        self._depth -= 1
        if self._open:
            element = self._open.pop()
            element.text = "".join(self._texts.pop())
            if not self._open:
                self.done.append(element)

    def _characters(self, text: str) -> None:
        if self._open:
            self._texts[-1].append(text)

    def _doctype(self, _: str, __: str | None, ___: str | None, has_internal_subset: bool) -> None:
        # A declaration that only names the DTD, as in BioC files, is harmless: no DTD is ever read.
        if has_internal_subset:
            raise InvalidInputError("declarations in DOCTYPE are not allowed")

    def _entity(self, *_: object) -> None:
        raise InvalidInputError("entity declarations are not allowed")

    def _external(self, *_: object) -> int:
        raise InvalidInputError("external entities are not allowed")


def elements(path: Path, name: str, log: ProblemLog) -> Iterator[Element]:
    """Every outermost element with this name, one by one. Whatever follows a syntax error cannot be read: one problem."""
    parser = expat.ParserCreate("utf-8")
    builder = _Builder(name, parser)
    try:
        for _, line in numbered_lines(path):
            parser.Parse(line + "\n", False)
            yield from builder.done
            builder.done.clear()
        parser.Parse("", True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        log.dropped(error.lineno, f"not valid XML: {reason}; the rest of the file cannot be read")
    except InvalidInputError as error:
        raise AnynerError(f"{path}:{parser.CurrentLineNumber}: {error}") from None
