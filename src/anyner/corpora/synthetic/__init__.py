"""The project's own corpus: a seeded grammar of believable English about patients, hospitals and the people in them.

Six labels; entities that are flat, nested, crossing and discontinuous, or, in the contiguous variant, flat and nested
only. Most entities of dev and test have surface forms that train never shows, made of words that it does.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from anyner.corpora.corpus import Corpus
from anyner.corpora.synthetic.phrases import Phrase, Voice
from anyner.corpora.synthetic.templates import sentence
from anyner.corpora.synthetic.words import Split, lexicon
from anyner.document import Document, Entity
from anyner.errors import InvalidInputError

__all__ = ["SyntheticSplits", "synthetic", "synthetic_splits"]


@dataclass(frozen=True, slots=True)
class SyntheticSplits:
    """Train, dev and test of one synthetic corpus."""

    train: Corpus
    dev: Corpus
    test: Corpus


def synthetic(size: int, seed: int = 0, contiguous: bool = False, split: Split = "train") -> Corpus:
    """So many sentences of the split; the same for the same arguments on every machine.

    A larger corpus begins with the smaller one of the same seed.
    """
    if size < 0:
        raise InvalidInputError(f"size of a synthetic corpus is {size}: it cannot be negative")
    if split not in ("train", "dev", "test"):
        raise InvalidInputError(f"split {split!r} of a synthetic corpus: choose one of train, dev, test")
    variant = "contiguous" if contiguous else "full"
    voice = Voice(random.Random(f"{seed} {variant} {split}"), lexicon(split), contiguous)
    return Corpus(tuple(_document(sentence(voice), f"synthetic-{split}-{number:05}") for number in range(1, size + 1)))


def synthetic_splits(sizes: tuple[int, int, int] = (1500, 200, 400), seed: int = 0, contiguous: bool = False) -> SyntheticSplits:
    """Train, dev and test of the given sizes."""
    train, dev, test = sizes
    return SyntheticSplits(
        train=synthetic(train, seed, contiguous, "train"),
        dev=synthetic(dev, seed, contiguous, "dev"),
        test=synthetic(test, seed, contiguous, "test"),
    )


def _document(phrase: Phrase, identifier: str) -> Document:
    entities = tuple(Entity(label, fragments) for label, fragments in phrase.marks)
    return Document(phrase.text, entities, id=identifier)
