"""The synthetic corpus: a seeded grammar of plausible English about patients, hospitals and the people in them.

Six labels; entities that are flat, nested, crossing and discontinuous, or, in the contiguous variant, flat and nested
only. Most entities of dev and test have surface forms that never occur in train, made of words that do.
"""

from __future__ import annotations

import random
import re
from functools import cache

from anyner.corpora.corpus import Corpus
from anyner.corpora.synthetic.phrases import SLOTS, SLOTS_WITH_DETERMINER, Mark, Phrase, Sampler
from anyner.corpora.synthetic.words import SPLITS, Split, read_lines, words
from anyner.document import Document, Entity
from anyner.errors import InvalidInputError
from anyner.fragments import shifted

_SLOT = re.compile(r"\{([a-z:]+)\}")
_MOST_WORDS = 32
_KIND_OF_TEN = (0, 0, 0, 1, 1, 1, 2, 2, 2, 3)
"""Kinds of sentences to draw from, in the order of the file: patient, clinic, people, no entity."""


def synthetic(size: int, seed: int = 0, contiguous: bool = False, split: Split = "train") -> Corpus:
    """`size` sentences of the split; the same arguments give the same corpus on every machine.

    A larger corpus begins with the smaller one of the same seed.
    """
    if size < 0:
        raise InvalidInputError(f"size of the synthetic corpus: expected 0 or more, got {size}")
    if split not in SPLITS:
        raise InvalidInputError(f"unknown split {split!r} of the synthetic corpus: choose one of {', '.join(SPLITS)}")
    variant = "contiguous" if contiguous else "full"
    sampler = Sampler(random.Random(f"{seed} {variant} {split}"), split, contiguous)
    return Corpus(tuple(_document(_sentence(sampler), f"synthetic-{split}-{number:05}") for number in range(1, size + 1)))


def _document(phrase: Phrase, identifier: str) -> Document:
    entities = tuple(Entity(label, fragments) for label, fragments in phrase.marks)
    return Document(phrase.text, entities, id=identifier)


def _sentence(sampler: Sampler) -> Phrase:
    """A sentence of ordinary length; its kind, template and phrases are sampled."""
    while True:
        drawn = _filled(sampler.pick(_templates()[sampler.pick(_KIND_OF_TEN)]), sampler)
        if drawn.text.count(" ") < _MOST_WORDS:
            return drawn


@cache
def _templates() -> list[list[list[str]]]:
    """The templates of each kind, each as alternating literal text and slot names, literal text first."""
    kinds: list[list[list[str]]] = []
    for line in read_lines("sentences.txt"):
        if line.startswith("#"):
            kinds.append([])
        elif line:
            kinds[-1].append(_SLOT.split(line))
    return kinds


def _filled(template: list[str], sampler: Sampler) -> Phrase:
    text = ""
    marks: list[Mark] = []
    used: set[str] = set()
    for position, piece in enumerate(template):
        if position % 2 == 0:
            text += piece
            continue
        phrase = _slot(piece, sampler)
        while phrase.text in used:
            phrase = _slot(piece, sampler)
        used.add(phrase.text)
        marks.extend((label, shifted(fragments, len(text))) for label, fragments in phrase.marks)
        text += phrase.text
    return Phrase(text[0].upper() + text[1:], tuple(marks))


def _slot(name: str, sampler: Sampler) -> Phrase:
    kind, _, determiner = name.partition(":")
    if determiner:
        return SLOTS_WITH_DETERMINER[kind](sampler, determiner)
    return Phrase(sampler.word(kind)) if kind in words() else SLOTS[kind](sampler)
