"""BioC, as XML and as JSON: documents of passages, with annotations at offsets in the whole document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any

from anyner.corpora.annotation import Claim, annotated, name_of, same_but_white_space
from anyner.corpora.codeunits import Utf8Offsets, Utf16Offsets
from anyner.corpora.corpus import Format, ProblemLog
from anyner.corpora.jsonfiles import Item, after_space, first_item, json_line
from anyner.corpora.textfiles import BYTE_ORDER_MARK, chunk_writer, whole_text
from anyner.corpora.textform import TextRules
from anyner.corpora.xmlfiles import Element, elements
from anyner.document import Document
from anyner.errors import AnynerError, InvalidInputError

_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_DECODER = JSONDecoder()
_LABEL_KEYS = ("type", "label")
_IDENTIFIERS = re.compile("identifier|accession|.*id", re.IGNORECASE)
_ESCAPED = {"\r": "&#13;"}  # XML parsers read a bare one as a line feed


@dataclass(frozen=True, slots=True)
class _Part:
    """A passage, or a sentence if the text is in sentences: its offset in the file, and where it begins in our text."""

    offset: int
    text: str
    begin: int


_Annotation = tuple[Any, list[_Part]]
"""An annotation, and the parts that it can be in."""
_COUNTS = ("characters", "UTF-8 bytes", "UTF-16 units")
"""Possible units of offsets. BioC specifies bytes; most files use characters."""


@lru_cache(maxsize=1000)
def _converter(count: str, text: str) -> Callable[[int], int | None]:
    """Converts offsets in this unit to characters of the text; cached for all annotations of a passage."""
    if count == "characters":
        return lambda place: place
    return Utf8Offsets(text).character if count == "UTF-8 bytes" else Utf16Offsets(text).character


@dataclass(slots=True)
class _Reader:
    """Builds documents, and counts what is not read."""

    log: ProblemLog
    skipped: dict[str, list[int]] = field(default_factory=dict)

    def document(self, item: object, line: int) -> Document:
        """The document of an object of BioC JSON. Its text is its passages, one on a line."""
        if not isinstance(item, dict):
            raise InvalidInputError("a document is not an object")
        if "passages" not in item:
            raise InvalidInputError('a document has no "passages"')
        parts: list[_Part] = []
        made: list[_Annotation] = []
        self._count("relations", len(_listed(item, "relations")), line)
        for passage in _listed(item, "passages"):
            made += self._passage(passage, parts, line)
        made += [(one, parts) for one in _listed(item, "annotations")]
        for annotation, _ in made:
            identifiers = any(value for key, value in _infons(annotation).items() if _IDENTIFIERS.fullmatch(str(key)))
            self._count("identifiers of entities", identifiers, line)
        text = "".join(part.text + _separator(part.text) for part in parts[:-1]) + "".join(part.text for part in parts[-1:])
        claims = self._placed(made, text, line)
        return annotated(Document(text, id=name_of(item.get("id"))), claims, self.log, in_words=False)

    def _passage(self, passage: Any, parts: list[_Part], line: int) -> Iterator[_Annotation]:
        """Adds the parts of a passage; yields its annotations."""
        sentences = _listed(passage, "sentences")
        own: list[_Part] = []
        for piece in [passage] if _is_text(passage, "text") or not sentences else sentences:
            offset = piece.get("offset", 0) if isinstance(piece, dict) else None
            if type(offset) is not int:
                raise InvalidInputError('a passage has no "offset", a whole number')
            begin = parts[-1].begin + len(parts[-1].text) + len(_separator(parts[-1].text)) if parts else 0
            own.append(_Part(offset, piece["text"] if _is_text(piece, "text") else "", begin))
            parts.append(own[-1])
        for piece in (passage, *sentences):
            self._count("relations", len(_listed(piece, "relations")), line)
            yield from ((annotation, own) for annotation in _listed(piece, "annotations"))

    def _placed(self, made: list[_Annotation], text: str, line: int) -> list[Claim]:
        """The annotations in characters of the text, in the unit that agrees best with their own texts."""
        ways = {}
        for count in _COUNTS[:1] if text.isascii() else _COUNTS:
            ways[count] = [_claim(annotation, parts, count, line) for annotation, parts in made]
        best = max(ways, key=lambda count: sum(_agrees(claim, text) for claim in ways[count]))
        if best != "characters":
            self.log.kept(line, f"the offsets count {best}: converted")
        return ways[best]

    def _count(self, kind: str, number: int, line: int) -> None:
        if number:
            self.skipped.setdefault(kind, []).extend([line] * number)

    def log_skipped(self) -> None:
        for kind, lines in self.skipped.items():
            self.log.dropped(lines[0], f"{kind} are not read: {len(lines)} skipped")


def _claim(annotation: Any, parts: list[_Part], count: str, line: int) -> Claim:
    """An annotation with its offsets moved to where its part begins in the text."""
    infons = _infons(annotation)
    label = next((infons[key] for key in _LABEL_KEYS if infons.get(key)), None)
    fragments: list[Any] = []
    for location in _listed(annotation, "locations"):
        match location:
            case {"offset": int() as offset, "length": int() as length}:
                fragments.append(_fragment(offset, offset + length, parts, count))
            case _:
                fragments.append(location)
    return Claim(line, label, fragments, text=annotation.get("text") if isinstance(annotation, dict) else None)


def _fragment(start: int, end: int, parts: list[_Part], count: str) -> tuple[int, int]:
    for part in parts:
        convert = _converter(count, part.text)
        begin, stop = convert(start - part.offset), convert(end - part.offset)
        if begin is not None and stop is not None and 0 <= begin < len(part.text):
            return part.begin + begin, part.begin + stop
    return -1, -1  # in no part: reported as out of range


def _agrees(claim: Claim, text: str) -> bool:
    fragments = claim.fragments if isinstance(claim.fragments, list) else []
    if not isinstance(claim.text, str) or not all(isinstance(pair, tuple) for pair in fragments):
        return False
    return same_but_white_space(claim.text, " ".join(text[max(start, 0) : max(end, 0)] for start, end in fragments))


def _separator(passage: str) -> str:
    """What separates a passage from the next."""
    return "" if passage[-1:].isspace() else "\n"


def _infons(annotation: Any) -> dict[str, Any]:
    infons = annotation.get("infons") if isinstance(annotation, dict) else None
    return infons if isinstance(infons, dict) else {}


def _listed(item: object, key: str) -> list[Any]:
    value = item.get(key) if isinstance(item, dict) else None
    return value if isinstance(value, list) else []


def _is_text(item: object, key: str) -> bool:
    return isinstance(item, dict) and isinstance(item.get(key), str)


def _json_documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    reader = _Reader(log)
    text = whole_text(path).removeprefix(BYTE_ORDER_MARK)
    for content in _values(text, path):
        for collection in content if isinstance(content, list) else [content]:
            # a collection, an answer of the PubTator service, or a single document
            single = [collection] if _listed(collection, "passages") else []
            for number, item in enumerate(_listed(collection, "documents") or _listed(collection, "PubTator3") or single, 1):
                with log.dropping(number):
                    yield reader.document(item, number)
    reader.log_skipped()


def _values(text: str, path: Path) -> Iterator[Any]:
    """The JSON values of a file, which may have several in a row."""
    place, end = 0, len(text.rstrip())
    while place < end:
        try:
            value, place = _DECODER.raw_decode(text, after_space(text, place))
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, JSONDecodeError) else "too deep or too large"
            raise AnynerError(f"{path}:{1 + text.count(chr(10), 0, place)}: not valid JSON: {reason}") from None
        yield value


def _xml_documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    reader = _Reader(log)
    for element in elements(path, "document", log):
        with log.dropping(element.line):
            yield reader.document(_item_of(element), element.line)
    reader.log_skipped()


def _item_of(element: Element) -> Item:
    """An element in the form of BioC JSON."""
    item: Item = {"id": element.text_of("id"), "infons": {one.attributes.get("key"): one.text for one in element.all("infon")}}
    item |= {"text": element.text_of("text"), "offset": _number(element.text_of("offset") or "0")}
    item["locations"] = [{key: _number(value) for key, value in one.attributes.items()} for one in element.all("location")]
    for kind in ("passage", "sentence", "annotation", "relation"):
        item[f"{kind}s"] = [_item_of(one) for one in element.all(kind)]
    return item


def _number(text: str) -> object:
    return int(text) if re.fullmatch(r"\s*-?\d{1,15}\s*", text) else text


def _xml_chunks(documents: Iterable[Document]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE collection SYSTEM "BioC.dtd">\n'
    yield "<collection><source>anyner</source><date></date><key></key>\n"
    for document in documents:
        yield f"<document><id>{_escaped(document.id)}</id><passage><offset>0</offset><text>{_escaped(document.text)}</text>\n"
        for number, entity in enumerate(document.entities, 1):
            places = "".join(f'<location offset="{start}" length="{end - start}"/>' for start, end in entity.fragments)
            label = f'<infon key="type">{_escaped(entity.label)}</infon>'
            yield f'<annotation id="T{number}">{label}{places}<text>{_escaped(entity.text)}</text></annotation>\n'
        yield "</passage></document>\n"
    yield "</collection>\n"


def _escaped(text: str) -> str:
    from xml.sax.saxutils import escape  # imported late: it loads Python's network modules

    return escape(text, _ESCAPED)


def _json_chunks(documents: Iterable[Document]) -> Iterator[str]:
    yield '{"source": "anyner", "date": "", "key": "", "infons": {}, "documents": ['
    for number, document in enumerate(documents):
        yield (",\n" if number else "\n") + json_line(_item(document))
    yield "\n]}\n"


def _item(document: Document) -> Item:
    annotations = [
        {
            "id": f"T{number}",
            "infons": {"type": entity.label},
            "text": entity.text,
            "locations": [{"offset": start, "length": end - start} for start, end in entity.fragments],
        }
        for number, entity in enumerate(document.entities, 1)
    ]
    empty: Item = {"infons": {}, "sentences": [], "relations": []}
    passage = {"offset": 0, "text": document.text, "annotations": annotations} | empty
    return {"id": document.id, "infons": {}, "passages": [passage], "annotations": [], "relations": []}


def _xml_trouble(text: str) -> str | None:
    found = _NOT_IN_XML.search(text)
    return f"holds the character U+{ord(found[0]):04X}, which XML cannot hold" if found else None


def _fit_xml(document: Document, log: ProblemLog) -> Document:
    if trouble := _xml_trouble(document.id):
        raise InvalidInputError(f"its id {trouble}")
    return TextRules(text_trouble=_xml_trouble, label_trouble=_xml_trouble).fit(document, log)


def _recognises_xml(_: Path, head: str) -> bool:
    start = head.lstrip()
    return start.startswith("<") and re.search(r"<collection[\s>]", start) is not None


def _recognises_json(_: Path, head: str) -> bool:
    first = first_item(head)
    return first is not None and bool(first.keys & {"documents", "passages", "PubTator3"}) and "assets" not in first.keys


BIOC_XML = Format(
    "bioc-xml", _xml_documents, chunk_writer(_xml_chunks), _fit_xml, _recognises_xml, keeps=frozenset({"ids"}), signature=True
)
BIOC_JSON = Format(
    "bioc-json",
    _json_documents,
    chunk_writer(_json_chunks),
    TextRules().fit,
    _recognises_json,
    keeps=frozenset({"ids"}),
    signature=True,
)
