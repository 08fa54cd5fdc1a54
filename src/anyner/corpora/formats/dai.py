"""The text format of Dai et al. 2020, also used by SetGNER: a sentence, its entities in words, a blank line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from anyner.corpora.annotation import Claim, annotated, shown
from anyner.corpora.corpus import Format, ProblemLog
from anyner.corpora.textfiles import chunk_writer, numbered_lines
from anyner.corpora.wordform import WordRules, entities_in_words, words_of
from anyner.document import Document

_ENTITY = re.compile(r"(-?\d{1,9}(?:,-?\d{1,9})*) (\S.*)")
_SURE_ENTITIES = re.compile(r"\d+,\d+(?:,\d+,\d+)* [^\s|]+(?:\|\d+,\d+(?:,\d+,\d+)* [^\s|]+)*")
_BLANKS = " \t\r"


def _documents(path: Path, log: ProblemLog) -> Iterator[Document]:
    for (line, text), entities in _blocks(path, log):
        words = text.split(" ")
        if "" in words:
            log.dropped(line, f"word {words.index('')} is empty (two spaces in a row?)")
        else:
            yield annotated(Document.from_words(words), _claims(*entities, log), log, in_words=True)


def _blocks(path: Path, log: ProblemLog) -> Iterator[tuple[tuple[int, str], tuple[int, str]]]:
    """Sentence line and entity line of every document, each with its number."""
    lines = [line.strip(_BLANKS) for _, line in numbered_lines(path)]
    lines += ["", ""]
    place = 0
    while place < len(lines) - 2:
        sentence, entities, gap = lines[place : place + 3]
        if not sentence:
            place += 1
        elif not gap:
            yield (place + 1, sentence), (place + 2, entities)
            place += 3
        elif not entities:
            log.kept(place + 2, "one blank line after a sentence: expected an empty entity line and a blank line")
            yield (place + 1, sentence), (place + 2, "")
            place += 2
        else:
            log.dropped(place + 1, "sentence and entity line are not followed by a blank line")
            place = next(number for number in range(place + 2, len(lines)) if not lines[number]) + 1


def _claims(line: int, entities: str, log: ProblemLog) -> Iterator[Claim]:
    for entry in entities.split("|") if entities else ():
        match = _ENTITY.fullmatch(entry.strip(_BLANKS))
        places = [int(place) for place in match[1].split(",")] if match else []
        if match is None or len(places) % 2:
            log.dropped(line, f"entity {shown(entry)}: expected pairs of first and last word, then a label")
            continue
        # In this format the last word of a pair is inclusive.
        yield Claim(line, match[2], [(a, b + 1) for a, b in zip(places[::2], places[1::2], strict=True)])


def _block(document: Document) -> str:
    entities = "|".join(
        ",".join(f"{start},{end - 1}" for start, end in fragments) + " " + entity.label
        for entity, fragments in entities_in_words(document)
    )
    return f"{' '.join(words_of(document))}\n{entities}\n\n"


def _word_trouble(word: str) -> str | None:
    return "holds a space, tab or line break" if any(mark in word for mark in " \t\r\n") else None


def _label_trouble(label: str) -> str | None:
    return 'holds white space or "|"' if "|" in label or label.split() != [label] else None


def _recognises(_: Path, head: str) -> bool:
    """Whether some sentence in the head has entities: without any, it could be any text."""
    lines = [line.strip(_BLANKS) for line in head.split("\n")]
    triples = zip(lines, lines[1:], [*lines[2:], ""], strict=False)
    return any(before and not after and _SURE_ENTITIES.fullmatch(line) for before, line, after in triples)


_RULES = WordRules(no_words=False, word_trouble=_word_trouble, label_trouble=_label_trouble)
DAI = Format("dai", _documents, chunk_writer(partial(map, _block)), _RULES.fit, _recognises, keeps=frozenset({"words"}))
