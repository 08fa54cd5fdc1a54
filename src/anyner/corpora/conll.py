"""CoNLL columns: a word a line, its tag in the last column, a blank line between sentences.

Of four columns, the layout of CoNLL-2003, the second one is the part of speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from anyner.corpora.annotation import ProblemLog, shown
from anyner.corpora.corpus import Corpus, Fit, Format
from anyner.corpora.tags import WELL_FORMED, TaggedWord, scheme_of, with_tagged_entities
from anyner.corpora.textfiles import numbered_lines, write_chunks
from anyner.corpora.wordform import WordRules, entities_in_words, fit_to_words, words_of
from anyner.document import Document
from anyner.errors import AnynerError, InvalidInputError

_DOCUMENT_START = "-DOCSTART-"
_BLANKS = " \t\r"
_RUN_OF_BLANKS = re.compile(" +")
_NOTHING = "_"
"""What fills a column that says nothing."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    words: tuple[TaggedWord, ...]
    document: int
    """How many -DOCSTART- lines came before it."""
    place: int


def _read(path: Path) -> Corpus:
    log = ProblemLog(path)
    sentences = list(_sentences(path, log))
    if sentences and not any(word.tag for sentence in sentences for word in sentence.words):
        raise AnynerError(f"{log.found[0]}; no line ends in a tag such as O or B-PER")
    scheme = scheme_of([[word.tag for word in sentence.words] for sentence in sentences])
    return log.corpus(_documents(sentences, scheme, log))


def _documents(sentences: list[_Sentence], scheme: str, log: ProblemLog) -> Iterator[Document]:
    stem = Path(log.file).name.split(".")[0]
    for sentence in sentences:
        doc, place = (f"{stem}-{sentence.document}", sentence.place) if sentence.document else (None, None)
        try:
            bare = Document.from_words((word.word for word in sentence.words), doc=doc, sentence=place)
        except InvalidInputError as error:
            log.dropped(sentence.words[0].line, str(error))
            continue
        bare = replace(bare, pos=_parts_of_speech(sentence, log))
        yield with_tagged_entities(bare, sentence.words, scheme, log)


def _parts_of_speech(sentence: _Sentence, log: ProblemLog) -> tuple[str, ...] | None:
    tags = tuple(word.pos for word in sentence.words)
    if all(tags) and set(tags) != {_NOTHING}:
        return tags
    if any(tags) and not all(tags):
        bare = next(word for word in sentence.words if not word.pos)
        log.kept(bare.line, f"word {shown(bare.word)} has no part of speech, so those of its sentence are left out")
    return None


def _sentences(path: Path, log: ProblemLog) -> Iterator[_Sentence]:
    words: list[TaggedWord] = []
    document = place = 0
    for line, text in numbered_lines(path):
        columns = _columns(text)
        starts_document = columns[0] == _DOCUMENT_START
        if (not any(columns) or starts_document) and words:
            yield _Sentence(tuple(words), document, place)
            words, place = [], place + 1
        if starts_document:
            document, place = document + 1, 0
        elif any(columns) and (word := _tagged(columns, line, log)):
            words.append(word)
    if words:
        yield _Sentence(tuple(words), document, place)


def _columns(text: str) -> list[str]:
    """The columns of a line, by tabs where it has one: a word may then hold blanks."""
    text = text.rstrip(_BLANKS)
    return [column.strip(" ") for column in text.split("\t")] if "\t" in text else _RUN_OF_BLANKS.split(text.lstrip(" "))


_COMMENTS = ("#", "#begin", "#end")


def _tagged(columns: list[str], line: int, log: ProblemLog) -> TaggedWord | None:
    word, tag = columns[0], columns[-1]
    pos = columns[1] if len(columns) == 4 else ""
    if WELL_FORMED.fullmatch(tag) and len(columns) > 1:
        if word:
            return TaggedWord(line, word, tag, pos)
        log.dropped(line, "a tag without a word")
        return None
    if word in _COMMENTS and len(columns) > 1:
        return None  # a comment line, as CoNLL-U and OntoNotes have them; the word "#" comes with a tag
    if len(columns) == 1:
        log.kept(line, f"word {shown(word)} has no tag, read as O")
        return TaggedWord(line, word, "")
    log.dropped(line, f"tag {shown(tag)} is malformed, read as O")
    return TaggedWord(line, word, "", pos) if word else None


def _write(documents: Iterable[Document], path: Path) -> None:
    write_chunks(path, _blocks(documents))


def _blocks(documents: Iterable[Document]) -> Iterator[str]:
    previous: Document | None = None
    started = False
    for document in documents:
        if _starts(previous, document, started):
            yield f"{_DOCUMENT_START}\tO\n\n"
            started = True
        tags = ["O"] * len(document.words or ())
        for entity, fragments in entities_in_words(document):
            for start, end in fragments or ():
                tags[start:end] = [f"B-{entity.label}"] + [f"I-{entity.label}"] * (end - start - 1)
        columns = [words_of(document), tags]
        if document.pos is not None and _can_be_written(document.pos):
            columns[1:1] = [list(document.pos), [_NOTHING] * len(tags)]
        yield "".join("\t".join(line) + "\n" for line in zip(*columns, strict=True)) + "\n"
        previous = document


def _can_be_written(pos: tuple[str, ...]) -> bool:
    return set(pos) != {_NOTHING} and not any(_column_trouble(tag) for tag in pos)


def _starts(previous: Document | None, document: Document, started: bool) -> bool:
    """Whether a -DOCSTART- is due: the document does not follow the one before it.

    Behind the first of them every sentence that belongs to no larger document needs its own: it would be read as a part.
    """
    if document.doc is None:
        return started
    if previous is None or previous.doc != document.doc or previous.sentence is None:
        return True
    return document.sentence != previous.sentence + 1


def _column_trouble(text: str) -> str | None:
    if any(mark in text for mark in "\t\r\n"):
        return "holds a tab or a line break"
    return "begins or ends with a blank" if text.strip(" ") != text else None


def _word_trouble(word: str) -> str | None:
    if trouble := _column_trouble(word):
        return trouble
    return "starts a document in this format" if word == _DOCUMENT_START else None


def _label_trouble(label: str) -> str | None:
    return "holds white space" if label.split() != [label] else None


_RULES = WordRules(
    discontinuous=False, overlapping=False, no_words=False, word_trouble=_word_trouble, label_trouble=_label_trouble
)


def _fit(document: Document) -> Fit:
    return fit_to_words(document, _RULES)


def _recognises(_: Path, head: str) -> bool:
    """Whether most of the lines end in a tag."""
    lines = [columns for columns in map(_columns, head.split("\n")[:200]) if any(columns)]
    tagged = sum(len(columns) > 1 and WELL_FORMED.fullmatch(columns[-1]) is not None for columns in lines)
    return tagged * 2 > len(lines)


CONLL = Format("conll", "columns, a word and its IOB or IOBES tag a line", _read, _write, _fit, _recognises)
