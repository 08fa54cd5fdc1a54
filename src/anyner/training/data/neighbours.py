"""Whether the documents of a corpus follow one another in larger texts, as its sentences do, or are texts of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import mean, median

from anyner.document import Document
from anyner.text.config import TextConfig
from anyner.text.windows import words_of

_ENOUGH = 1000
"""Documents; of fewer it cannot be told."""
_MOST = 20_000
"""Documents that are looked at, the first ones."""
_SHORT = 100
"""Words of a document that is not a whole text of several sentences."""
_RARE = 0.01
"""A word is rare if at most this share of the documents has it."""
_MORE_OFTEN = 2.0
"""So much more often do neighbours share a rare word with each other than with strangers, if they are of one text."""
_PARTS = 5
"""Strangers are so many parts of the corpus away from each other."""


def follow_one_another(documents: Sequence[Document], text: TextConfig) -> bool:
    """False for many short texts, posts for instance, that name no source and are as unlike their neighbours as any others."""
    if len(documents) < _ENOUGH or any(document.doc is not None for document in documents):
        return True
    spoken = [_words(document, text) for document in documents[:_MOST]]
    if median(map(len, spoken)) > _SHORT:
        return True
    in_documents = Counter(word for words in spoken for word in words)
    rare = [{word for word in words if in_documents[word] <= _RARE * len(spoken)} for words in spoken]
    near = _sharing(rare, 1)
    far = mean(_sharing(rare, len(rare) * part // _PARTS) for part in range(1, _PARTS))
    return near >= _MORE_OFTEN * far


def _sharing(documents: Sequence[set[str]], apart: int) -> int:
    """How many have a word in common with the document so far behind them, the first ones following the last."""
    return sum(not one.isdisjoint(other) for one, other in zip(documents, [*documents[apart:], *documents[:apart]], strict=True))


def _words(document: Document, text: TextConfig) -> set[str]:
    found = (document.text[start:end].casefold() for start, end in words_of(document, text))
    return {word for word in found if any(map(str.isalpha, word))}
