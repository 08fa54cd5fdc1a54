"""Whether the documents of a corpus are consecutive parts of larger texts, as sentences are, or independent texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import mean, median

from anyner.document import Document
from anyner.text.config import TextConfig
from anyner.text.windows import words_of

_ENOUGH = 1000
"""Minimum number of documents; with fewer there is too little evidence."""
_MOST = 20_000
"""Number of documents that are examined, the first ones."""
_SHORT = 100
"""Median number of distinct words above which documents are whole texts of several sentences."""
_RARE = 0.01
"""A word is rare if at most this share of the documents has it."""
_MORE_OFTEN = 2.0
"""Neighbours are parts of one text if they share a rare word this many times as often as distant documents do."""
_PARTS = 5
"""Number of parts of the corpus; distant documents are one or more whole parts apart."""


def follow_one_another(documents: Sequence[Document], text: TextConfig) -> bool:
    """False for many short texts without a source, such as posts, that are as unlike their neighbours as any other text."""
    if len(documents) < _ENOUGH or any(document.doc is not None for document in documents):
        return True
    word_sets = [_words(document, text) for document in documents[:_MOST]]
    if median(map(len, word_sets)) > _SHORT:
        return True
    frequency = Counter(word for words in word_sets for word in words)
    rare = [{word for word in words if frequency[word] <= _RARE * len(word_sets)} for words in word_sets]
    near = _sharing(rare, 1)
    far = mean(_sharing(rare, len(rare) * part // _PARTS) for part in range(1, _PARTS))
    return near >= _MORE_OFTEN * far


def _sharing(documents: Sequence[set[str]], apart: int) -> int:
    """Number of documents that share a word with the document `apart` places later; the first ones follow the last."""
    return sum(not one.isdisjoint(other) for one, other in zip(documents, [*documents[apart:], *documents[:apart]], strict=True))


def _words(document: Document, text: TextConfig) -> set[str]:
    found = (document.text[start:end].casefold() for start, end in words_of(document, text))
    return {word for word in found if any(map(str.isalpha, word))}
