"""The project's own corpus: a seeded grammar of believable English about patients, hospitals and the people in them.

Six labels; entities that are flat, nested, crossing and discontinuous, or, in the contiguous variant, flat and nested
only. Most entities of dev and test have surface forms that train never shows, made of words that it does.
"""

from __future__ import annotations

import random
import re
from functools import cache

from anyner.corpora.corpus import Corpus
from anyner.corpora.synthetic.phrases import SLOTS, SLOTS_WITH_DETERMINER, Mark, Phrase, Voice
from anyner.corpora.synthetic.words import SPLITS, Split, read_lines, words
from anyner.document import Document, Entity
from anyner.errors import InvalidInputError
from anyner.fragments import shifted

_SLOT = re.compile(r"\{([a-z:]+)\}")
_MOST_WORDS = 32
_KIND_OF_TEN = (0, 0, 0, 1, 1, 1, 2, 2, 2, 3)
"""Kinds of sentences, in the order of the file: patient, clinic, people, no entity."""


def synthetic(size: int, seed: int = 0, contiguous: bool = False, split: Split = "train") -> Corpus:
    """So many sentences of the split; the same for the same arguments on every machine.

    A larger corpus begins with the smaller one of the same seed.
    """
    if size < 0:
        raise InvalidInputError(f"size of a synthetic corpus is {size}: it cannot be negative")
    if split not in SPLITS:
        raise InvalidInputError(f"split {split!r} of a synthetic corpus: choose one of {', '.join(SPLITS)}")
    variant = "contiguous" if contiguous else "full"
    voice = Voice(random.Random(f"{seed} {variant} {split}"), split, contiguous)
    return Corpus(tuple(_document(_sentence(voice), f"synthetic-{split}-{number:05}") for number in range(1, size + 1)))


def _document(phrase: Phrase, identifier: str) -> Document:
    entities = tuple(Entity(label, fragments) for label, fragments in phrase.marks)
    return Document(phrase.text, entities, id=identifier)


def _sentence(voice: Voice) -> Phrase:
    """One sentence of a kind, template and filling drawn by the voice, of a length people write."""
    while True:
        drawn = _filled(voice.pick(_templates()[voice.pick(_KIND_OF_TEN)]), voice)
        if drawn.text.count(" ") < _MOST_WORDS:
            return drawn


@cache
def _templates() -> list[list[list[str]]]:
    """The templates of each kind, each as literal text and slot names by turns, literal first."""
    kinds: list[list[list[str]]] = []
    for line in read_lines("sentences.txt"):
        if line.startswith("#"):
            kinds.append([])
        elif line:
            kinds[-1].append(_SLOT.split(line))
    return kinds


def _filled(template: list[str], voice: Voice) -> Phrase:
    text = ""
    marks: list[Mark] = []
    said: set[str] = set()
    for position, piece in enumerate(template):
        if position % 2 == 0:
            text += piece
            continue
        phrase = _slot(piece, voice)
        while phrase.text in said:
            phrase = _slot(piece, voice)
        said.add(phrase.text)
        marks.extend((label, shifted(fragments, len(text))) for label, fragments in phrase.marks)
        text += phrase.text
    return Phrase(text[0].upper() + text[1:], tuple(marks))


def _slot(name: str, voice: Voice) -> Phrase:
    kind, _, whose = name.partition(":")
    if whose:
        return SLOTS_WITH_DETERMINER[kind](voice, whose)
    return Phrase(voice.word(kind)) if kind in words() else SLOTS[kind](voice)
