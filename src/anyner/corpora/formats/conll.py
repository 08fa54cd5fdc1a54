"""CoNLL columns: a word a line, its tag in the last column, a blank line between sentences."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from anyner.corpora.annotation import shown
from anyner.corpora.corpus import Format, ProblemLog
from anyner.corpora.tags import WELL_FORMED, TaggedDocument, checked_tag, iob2_tags, tags_to_entities
from anyner.corpora.textfiles import chunk_writer, numbered_lines
from anyner.corpora.wordform import WordRules, words_of
from anyner.document import Document
from anyner.errors import AnynerError

_DOCUMENT_START = "-DOCSTART-"
_COMMENTS = ("#", "#begin", "#end")
_BLANKS = " \t\r"
_RUN_OF_BLANKS = re.compile(" +")
_RANGE = re.compile(r"\d+[-.]\d+")
_LABEL = re.compile(r"(?![BIESMLUW]-)[^\W\d_][\w-]+")
_CHUNKS = frozenset(("NP", "VP", "PP", "ADVP", "ADJP", "SBAR", "PRT", "CONJP", "INTJ", "LST", "UCP"))
"""Labels of phrases: their tags stand between word and entity tag in CoNLL 2003, and are no entities."""
_MOST_LABELS = 100
"""Maximum number of labels in tags without prefixes; a column with more holds words."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Layout of a file, detected from all of its lines."""

    numbered: bool
    """The first column counts the words of a sentence, as in CoNLL-U: words are in the second one."""
    plain_tags: bool
    """Tags are labels without a prefix such as B-: adjacent words with the same label are one entity."""
    other_tags: tuple[tuple[int, str], ...]
    """Other columns of entity tags, each with a tag: a second layer of entities, or those of another annotator."""

    @classmethod
    def of(cls, lines: Iterable[tuple[int, str]]) -> _Layout:
        counts, expected, most = True, 1, 0
        tags: set[str] = set()
        inner: dict[int, set[str]] = defaultdict(set)
        for _, text in lines:
            columns = _columns(text)
            if not any(columns) or columns[0] == _DOCUMENT_START:
                expected = 1
            elif not _may_be_comment(columns[0]) and not (counts and _RANGE.fullmatch(columns[0])):
                counts = counts and columns[0] == str(expected) and len(columns) > 2
                expected, most = expected + 1, max(most, expected)
                if len(columns) > 1 and len(tags) <= _MOST_LABELS + 1:
                    tags.add(columns[-1])
                for number, column in enumerate(columns[1:-1], 2):
                    inner[number].add(column)
        labels = tags - {"O"}
        plain = "O" in tags and len(labels) <= _MOST_LABELS and all(_LABEL.fullmatch(label) for label in labels)
        return cls(counts and most > 1, plain and bool(labels), tuple(_entity_columns(inner)))


def _documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    lines = list(numbered_lines(path))
    if _has_only_tags(lines):
        raise AnynerError(f"{path}: has only tags, no words: write one WORD, a tab and its TAG per line")
    layout = _Layout.of(lines)
    if layout.plain_tags:
        log.kept(1, "tags have no prefix such as B-: adjacent words with the same tag are read as one entity")
    for number, tag in layout.other_tags:
        log.dropped(0, f"column {number} has entity tags such as {shown(tag)}: only the last column is read")
    sentences = list(_sentences(path, lines, layout, log))
    if sentences and not any(any(sentence.tags) for sentence in sentences):
        raise AnynerError(f"{log.found[0]}; no line ends in a tag such as O or B-PER")
    return tags_to_entities(sentences, log)


def _has_only_tags(lines: Iterable[tuple[int, str]]) -> bool:
    """Whether every column of every line is a tag. Two columns are words and tags, even if all words look like tags."""
    rows = (columns for _, text in lines if any(columns := _columns(text)))
    sizes: set[int] = set()
    for columns in rows:
        if not all(map(WELL_FORMED.fullmatch, columns)):
            return False
        sizes.add(len(columns))
    return bool(sizes - {2})


def _sentences(path: Path, lines: Iterable[tuple[int, str]], layout: _Layout, log: ProblemLog) -> Iterator[TaggedDocument]:
    stem = path.name.split(".")[0]
    tagged: list[tuple[int, str, str]] = []
    document = place = 0
    for line, text in chain(lines, [(0, "")]):  # the end of the file ends the last sentence
        columns = _columns(text)
        starts_document = columns[0] == _DOCUMENT_START
        if tagged and (starts_document or not any(columns)):
            places, words, tags = zip(*tagged, strict=True)
            doc, sentence = (f"{stem}-{document}", place) if document else (None, None)
            yield TaggedDocument(Document.from_words(words, doc=doc, sentence=sentence), tags, places)
            tagged, place = [], place + 1
        if starts_document:
            document, place = document + 1, 0
        elif any(columns):
            tagged += _tagged(columns, layout, line, log)


def _columns(text: str) -> list[str]:
    """The columns of a line, separated by tabs if it has any: words may then contain spaces."""
    text = text.rstrip(_BLANKS)
    return [column.strip(" ") for column in text.split("\t")] if "\t" in text else _RUN_OF_BLANKS.split(text.lstrip(" "))


def _may_be_comment(first: str) -> bool:
    """Whether a line with this first column is a comment, unless it ends in a tag."""
    return first.partition(" ")[0] in _COMMENTS


def _entity_columns(columns: Mapping[int, Collection[str]]) -> Iterator[tuple[int, str]]:
    """The columns that hold only tags, some of them of entities; each with such a tag."""
    for number, found in columns.items():
        if all(map(WELL_FORMED.fullmatch, found)):
            entities = sorted(tag for tag in found if tag != "O" and tag[2:] not in _CHUNKS)
            yield from ((number, tag) for tag in entities[:1])


def _tagged(columns: list[str], layout: _Layout, line: int, log: ProblemLog) -> list[tuple[int, str, str]]:
    """Line, word and tag, if the line has a word."""
    if layout.numbered and _RANGE.fullmatch(columns[0]):
        return []  # a multiword token whose words follow, or an empty node
    word, tag = columns[1 if layout.numbered and not _may_be_comment(columns[0]) else 0], columns[-1]
    if layout.plain_tags and not _may_be_comment(word) and _LABEL.fullmatch(tag):
        tag = f"I-{tag}"
    if len(columns) == 1:
        log.kept(line, f"word {shown(word)} has no tag, read as O")
        return [(line, word, "")]
    if _may_be_comment(word) and not WELL_FORMED.fullmatch(tag):
        return []  # a comment line, as CoNLL-U and OntoNotes have them; the word "#" comes with a tag
    tag = checked_tag(tag, line, log)
    if tag and not word:
        log.dropped(line, "a tag without a word")
    return [(line, word, tag)] if word else []


def _blocks(documents: Iterable[Document]) -> Iterator[str]:
    previous: Document | None = None
    started = False
    for document in documents:
        if _starts(previous, document, started):
            yield f"{_DOCUMENT_START}\tO\n\n"
            started = True
        yield "".join(f"{word}\t{tag}\n" for word, tag in zip(words_of(document), iob2_tags(document), strict=True)) + "\n"
        previous = document


def _starts(previous: Document | None, document: Document, started: bool) -> bool:
    """Whether to write a -DOCSTART-: the document does not continue the previous one.

    After the first of them, every sentence without a `doc` needs its own, or it would be read as part of a document.
    """
    if document.doc is None:
        return started
    if previous is None or previous.doc != document.doc or previous.sentence is None:
        return True
    return document.sentence != previous.sentence + 1


def _word_trouble(word: str) -> str | None:
    if any(mark in word for mark in "\t\r\n"):
        return "holds a tab or a line break"
    if word.strip(" ") != word:
        return "begins or ends with a space"
    return "starts a document in this format" if word == _DOCUMENT_START else None


def _label_trouble(label: str) -> str | None:
    return "holds white space" if label.split() != [label] else None


def _recognises(_: Path, head: str) -> bool:
    """Whether most of the lines end in a tag. Lines of a tag alone count: the reader then says that the words are missing."""
    lines = [columns for columns in map(_columns, head.split("\n")[:200]) if any(columns)]
    tagged = sum(WELL_FORMED.fullmatch(columns[-1]) is not None for columns in lines)
    return tagged * 2 > len(lines)


_RULES = WordRules(
    discontinuous=False, overlapping=False, no_words=False, word_trouble=_word_trouble, label_trouble=_label_trouble
)
CONLL = Format("conll", _documents, chunk_writer(_blocks), _RULES.fit, _recognises, keeps=frozenset({"words", "doc"}))
