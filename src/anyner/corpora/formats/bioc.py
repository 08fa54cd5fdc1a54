"""BioC, as XML and as JSON: documents of passages, with annotations at places of the whole document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from anyner.corpora.annotation import Claim, annotated, name_of
from anyner.corpora.corpus import Format, ProblemLog
from anyner.corpora.jsonfiles import Item, first_item, json_line
from anyner.corpora.textfiles import BYTE_ORDER_MARK, chunk_writer, whole_text
from anyner.corpora.textform import TextRules
from anyner.corpora.xmlfiles import Element, elements
from anyner.document import Document
from anyner.errors import AnynerError, InvalidInputError

_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_DECODER = JSONDecoder()
_LABEL_KEYS = ("type", "label")
_IDENTIFIERS = re.compile("identifier|accession|.*id", re.IGNORECASE)
_ESCAPED = {"\r": "&#13;"}  # a bare one is read as a line feed


@dataclass(slots=True)
class _Reader:
    """Puts documents together, and counts what is not read of them."""

    log: ProblemLog
    skipped: dict[str, list[int]] = field(default_factory=dict)

    def document(self, item: object, line: int) -> Document:
        """A document in the form of BioC JSON. Its text is its passages, one on a line."""
        if not isinstance(item, dict):
            raise InvalidInputError("a document is no object")
        passages = list(self._passages(item, line))
        text = "\n".join(passage for _, passage, _ in passages)
        claims: list[Claim] = []
        begin = 0
        shifts: list[tuple[int, int, int]] = []
        for offset, passage, inside in passages:
            shifts.append((offset, offset + len(passage), begin - offset))
            claims += [self._claim(one, [shifts[-1]], line) for one in inside]
            begin += len(passage) + 1
        claims += [self._claim(one, shifts, line) for one in _listed(item, "annotations")]
        return annotated(Document(text, id=name_of(item.get("id"))), claims, self.log, in_words=False)

    def _passages(self, item: Item, line: int) -> Iterator[tuple[int, str, list[Any]]]:
        """Offset, text and annotations of each passage, or of each sentence where the text is in these."""
        self._count("relations", len(_listed(item, "relations")), line)
        for passage in _listed(item, "passages"):
            sentences = [] if _is_text(passage, "text") else _listed(passage, "sentences")
            inside = [one for sentence in _listed(passage, "sentences") for one in _listed(sentence, "annotations")]
            for part in sentences or [passage]:
                if not isinstance(part, dict) or type(part.get("offset", 0)) is not int:
                    raise InvalidInputError("a passage has no offset, a whole number")
                self._count("relations", len(_listed(part, "relations")), line)
                text = part["text"] if _is_text(part, "text") else ""
                yield part.get("offset", 0), text, _listed(part, "annotations") + ([] if sentences else inside)

    def _claim(self, annotation: object, parts: list[tuple[int, int, int]], line: int) -> Claim:
        """An annotation, moved to where its passage stands in the text; several may be given to choose from."""
        if not isinstance(annotation, dict):
            return Claim(line, None, None)
        infons = annotation.get("infons")
        infons = infons if isinstance(infons, dict) else {}
        self._count("identifiers of entities", any(infons[key] for key in infons if _IDENTIFIERS.fullmatch(str(key))), line)
        fragments = []
        for location in _listed(annotation, "locations"):
            offset, length = (location.get(key) if isinstance(location, dict) else None for key in ("offset", "length"))
            if type(offset) is not int or type(length) is not int:
                return Claim(line, None, None)
            shift = next((by for start, end, by in parts if start <= offset <= end), parts[0][2] if parts else 0)
            fragments.append([offset + shift, offset + length + shift])
        label = next((infons[key] for key in _LABEL_KEYS if infons.get(key)), None)
        return Claim(line, label, fragments, text=annotation.get("text"))

    def _count(self, kind: str, number: int, line: int) -> None:
        if number:
            self.skipped.setdefault(kind, []).extend([line] * number)

    def tell_skipped(self) -> None:
        for kind, lines in self.skipped.items():
            self.log.dropped(lines[0], f"{kind} are not read: {len(lines)} skipped")


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
            # a collection, what the PubTator service answers with, or a document alone
            alone = [collection] if _listed(collection, "passages") else []
            for number, item in enumerate(_listed(collection, "documents") or _listed(collection, "PubTator3") or alone, 1):
                with log.dropping(number):
                    yield reader.document(item, number)
    reader.tell_skipped()


def _values(text: str, path: Path) -> Iterator[Any]:
    """The values of a file, which may have several after each other."""
    place, end = 0, len(text.rstrip())
    while place < end:
        try:
            value, place = _DECODER.raw_decode(text, len(text) - len(text[place:].lstrip()))
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, JSONDecodeError) else "too deep or too large"
            raise AnynerError(f"{path}:{1 + text.count(chr(10), 0, place)}: not valid JSON: {reason}") from None
        yield value


def _xml_documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    reader = _Reader(log)
    for element in elements(path, "document"):
        with log.dropping(element.line):
            yield reader.document(_item_of(element), element.line)
    reader.tell_skipped()


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
            name = quoteattr(f"T{number}")
            yield f"<annotation id={name}>{label}{places}<text>{_escaped(entity.text)}</text></annotation>\n"
        yield "</passage></document>\n"
    yield "</collection>\n"


def _escaped(text: str) -> str:
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
    return f"holds the character U+{ord(found[0]):04X}, which XML cannot" if found else None


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
