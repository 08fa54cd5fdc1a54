"""WebAnno TSV 3, of WebAnno and INCEpTION: a token a line, a column for each feature of a layer, blocks of sentences.

Each sentence becomes a document, as in CoNLL files. Offsets count UTF-16 units of the file's whole text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from anyner.corpora.annotation import Claim, annotated, shown
from anyner.corpora.codeunits import Utf16Offsets
from anyner.corpora.corpus import Format, ProblemLog
from anyner.corpora.textfiles import chunk_writer, numbered_lines
from anyner.corpora.textform import TextRules
from anyner.corpora.wordform import given_or_spaced_words
from anyner.document import Document, Entity
from anyner.errors import AnynerError, InvalidInputError
from anyner.fragments import Fragment

_FORMAT = "#FORMAT=WebAnno TSV 3"
_ENTITY_LAYER = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
_BUILT_IN = "de.tudarmstadt.ukp.dkpro.core.api."
"""Layers of this package hold lemmas, parts of speech and the like, except for named entities."""
_LABEL_FEATURE, _NO_LABEL_FEATURE = "value", "identifier"
_NONE, _NO_VALUE = "_", "*"
_TOKEN = re.compile(r"(\d{1,9})-(\d{1,9})(?:\.\d{1,9})?")
_PLACES = re.compile(r"(\d{1,15})-(\d{1,15})")
_VALUE = re.compile(r"((?:[^\\\[|]|\\.)*)(?:\[(\d{1,9})\])?", re.DOTALL)
_SPLIT = re.compile(r"((?:[^\\|]|\\.)*)(?:\||$)", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = re.compile(r"[\\\[\]|_*;]|->")
_CONTROLS = {"\t": "t", "\n": "n", "\r": "r", "\f": "f", "\b": "b"}
_CONTROL_OF = {letter: control for control, letter in _CONTROLS.items()}
_WORD = re.compile(r"\S+")

_Row = tuple[int, list[str]]
_Parts = dict[Fragment, list[tuple[str, int]]]


@dataclass(frozen=True, slots=True)
class _Layer:
    """A span layer and the columns of its features."""

    name: str
    features: tuple[str, ...]
    first_column: int

    @property
    def is_read(self) -> bool:
        return self.name == _ENTITY_LAYER or not self.name.startswith(_BUILT_IN)

    def label(self, values: list[str]) -> str:
        """The label of an annotation: its `value`, else its first feature, else its layer."""
        named = dict(zip(self.features, values, strict=True))
        order = [_LABEL_FEATURE, *(feature for feature in self.features if feature != _NO_LABEL_FEATURE)]
        found = (named[feature] for feature in order if named.get(feature, _NONE) not in {_NONE, _NO_VALUE})
        return _unescaped(next(found, self.name.rpartition(".")[2]))


@dataclass(slots=True)
class _Sentence:
    line: int = 0
    texts: list[str] = field(default_factory=list)
    rows: list[_Row] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    """The last row of the previous sentence."""


def _documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    files = sorted(path.glob("*.tsv")) if path.is_dir() else [path]
    for file in files:
        log.file = str(file)
        yield from _file_documents(file, log)


def _file_documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    layers: list[_Layer] = []
    columns = 3
    sentence = _Sentence()
    number = count()
    stem = path.name.split(".")[0]
    for line, text in numbered_lines(path):
        if line == 1 and not text.startswith(_FORMAT):
            raise AnynerError(f"{path}:1: expected a line that begins with {_FORMAT}")
        if text.startswith("#T_"):
            kind, _, described = text.partition("=")
            name, *features = described.split("|")
            layer = _Layer(name, tuple(features), columns)
            columns += max(1, len(features))
            if kind == "#T_SP" and layer.is_read:
                layers.append(layer)
            else:
                log.dropped(line, f"layer {shown(name)} is not read")
        elif text.startswith("#Text="):
            if sentence.rows:
                yield from _read(sentence, layers, log, stem, next(number))
                sentence = _Sentence(before=sentence.rows[-1][1])
            sentence.line = sentence.line or line
            sentence.texts.append(_unescaped(text.removeprefix("#Text=")))
        elif text and not text.startswith("#"):
            sentence.rows.append((line, text.split("\t")))
    if sentence.rows:
        yield from _read(sentence, layers, log, stem, next(number))


def _read(sentence: _Sentence, layers: list[_Layer], log: ProblemLog, stem: str, number: int) -> Iterator[Document]:
    with log.dropping(sentence.line):
        text = "\n".join(sentence.texts)
        rows = [(line, columns) for line, columns in sentence.rows if _well_formed(line, columns, log)]
        placed = _placed(text, rows)
        if any(_numbers(sentence.before, layer) & _numbers(rows[0][1], layer) for layer in layers if rows):
            log.kept(rows[0][0], "an annotation continues from the previous sentence: read as one entity in each")
        words = tuple(places for (_, columns), places in zip(rows, placed, strict=True) if "." not in columns[0])
        bare = Document(text, words=words, doc=stem, sentence=number)
        yield annotated(bare, _claims(rows, placed, layers, log), log, in_words=False)


def _well_formed(line: int, columns: list[str], log: ProblemLog) -> bool:
    good = len(columns) > 2 and _TOKEN.fullmatch(columns[0]) and _PLACES.fullmatch(columns[1])
    if not good:
        log.dropped(line, "malformed line: expected number, offsets and text of a token")
    return bool(good)


def _placed(text: str, rows: list[_Row]) -> list[Fragment]:
    """Positions of the tokens in the sentence. The file counts from its own beginning; the first token locates the sentence."""
    places = Utf16Offsets(text)
    offsets = [(int(start), int(end)) for start, end in (columns[1].split("-") for _, columns in rows)]
    if not offsets:
        return []
    begin = offsets[0][0] - places.units(len(text) - len(text.lstrip()))
    for convert in (places.character, lambda place: place):  # some writers count characters instead
        placed = [(convert(start - begin), convert(end - begin)) for start, end in offsets]
        found = [(start, end) for start, end in placed if start is not None and end is not None]
        if len(found) == len(placed) and all(
            0 <= start < end and text[start:end] == _unescaped(columns[2])
            for (start, end), (_, columns) in zip(found, rows, strict=True)
        ):
            return found
    raise InvalidInputError("the offsets of the tokens do not match the text of the sentence")


def _claims(rows: list[_Row], placed: list[Fragment], layers: list[_Layer], log: ProblemLog) -> Iterator[Claim]:
    """An annotation is in the rows of all its tokens, with one number; without a number it covers one token."""
    for layer in layers:
        spans: dict[tuple[str, str], list[tuple[int, Fragment]]] = {}
        single = count()
        for (line, columns), places in zip(rows, placed, strict=True):
            for values, number in _annotations(columns, layer):
                key = (layer.label(values), number or f"single {next(single)}")
                spans.setdefault(key, []).append((line, places))
        for (label, _), parts in spans.items():
            begin, end = min(start for _, (start, _) in parts), max(end for _, (_, end) in parts)
            yield Claim(parts[0][0], label, [(begin, end)])


def _annotations(columns: list[str], layer: _Layer) -> Iterator[tuple[list[str], str]]:
    """Feature values and number of each annotation on a token; several are stacked in each column."""
    width = max(1, len(layer.features))
    cells = columns[layer.first_column : layer.first_column + width]
    if len(cells) < width or cells[0] == _NONE:
        return
    stacked = [[match[1] for match in _SPLIT.finditer(cell) if match[1]] for cell in cells]
    for values in zip(*stacked, strict=False):
        matches = [match for match in map(_VALUE.fullmatch, values) if match is not None]
        if len(matches) == width:
            numbers = (match[2] for match in matches if match[2])
            yield [match[1] for match in matches][: len(layer.features)], next(numbers, "")


def _numbers(columns: list[str], layer: _Layer) -> set[str]:
    return {number for _, number in _annotations(columns, layer) if number}


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: _CONTROL_OF.get(match[1], match[1]), text)


def _escaped(text: str) -> str:
    marked = _ESCAPED.sub(lambda match: "".join("\\" + character for character in match[0]), text)
    return "".join("\\" + _CONTROLS[character] if character in _CONTROLS else character for character in marked)


def _blocks(documents: Iterable[Document]) -> Iterator[str]:
    yield f"{_FORMAT}.3\n#T_SP={_ENTITY_LAYER}|{_NO_LABEL_FEATURE}|{_LABEL_FEATURE}\n\n"
    begin = 0
    numbers = count(1)
    for number, document in enumerate(documents, 1):
        places = Utf16Offsets(document.text)
        yield "\n" + "".join(f"#Text={_escaped(line)}\n" for line in document.text.split("\n"))
        for token, (word, parts) in enumerate(_token_parts(document, numbers), 1):
            for row, (start, end) in enumerate([word, *sorted(parts.keys() - {word})]):
                name = f"{number}-{token}" + (f".{row}" if row else "")
                columns = [name, f"{begin + places.units(start)}-{begin + places.units(end)}", _escaped(document.text[start:end])]
                on_row = parts.get((start, end), [])
                identifiers = "|".join(f"{_NO_VALUE}[{own}]" for _, own in on_row) or _NONE
                values = "|".join(f"{_escaped(label)}[{own}]" for label, own in on_row) or _NONE
                yield "\t".join([*columns, identifiers, values]) + "\n"
        begin += places.length + 1


def _token_parts(document: Document, numbers: Iterator[int]) -> list[tuple[Fragment, _Parts]]:
    """Each token with the parts of it that entities cover, often all of it, and the label and number of each entity."""
    words = document.words or ()
    parts: list[_Parts] = [{} for _ in words]
    ends = [end for _, end in words]
    for entity, number in zip(document.entities, numbers, strict=False):
        place = bisect_right(ends, entity.start)
        while place < len(words) and words[place][0] < entity.end:
            part = max(entity.start, words[place][0]), min(entity.end, ends[place])
            parts[place].setdefault(part, []).append((entity.label, number))
            place += 1
    return list(zip(words, parts, strict=True))


def _fit(document: Document, log: ProblemLog) -> Document:
    words = tuple(_tokens(document))
    if not words:
        raise InvalidInputError("it has no words")
    return replace(_RULES.fit(document, log), words=words)


def _tokens(document: Document) -> Iterator[Fragment]:
    """The words without white space at their edges, and all text between words: every visible character is in a token."""
    position = 0
    given = given_or_spaced_words(document)
    for start, end in [*given, (len(document.text), len(document.text))]:
        yield from (match.span() for match in _WORD.finditer(document.text, position, start))
        word = document.text[start:end]
        if word.strip():
            yield start + len(word) - len(word.lstrip()), end - (len(word) - len(word.rstrip()))
        position = end


def _entity_trouble(entity: Entity) -> str | None:
    return "it begins or ends with white space" if entity.text != entity.text.strip() else None


def _recognises(path: Path, head: str) -> bool:
    if path.is_dir():
        first = next(iter(sorted(path.glob("*.tsv"))), None)
        return first is not None and next(numbered_lines(first), (1, ""))[1].startswith(_FORMAT)
    return head.startswith(_FORMAT)


_RULES = TextRules(discontinuous=False, entity_trouble=_entity_trouble)
WEBANNO = Format("webanno", _documents, chunk_writer(_blocks), _fit, _recognises, signature=True, reads_folders=True)
