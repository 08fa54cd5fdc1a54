"""Word shapes: the case, digits and punctuation of a word, for encoders that do not see them.

The vocabulary of shapes is built from the training documents and saved with the model. No torch here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from anyner.document import Document
from anyner.encoding.pieces import plain_form
from anyner.encoding.untrusted import read_json
from anyner.errors import AnynerError
from anyner.text.config import TextConfig
from anyner.text.windows import Window, words_of

SHAPES = "features.json"
UNKNOWN = 0
"""Row of shapes that are not in the vocabulary."""
_LEAST_OF_A_SHAPE = 8
"""Shapes seen fewer times in training count as unknown."""
_LONGEST_RUN = 2
"""Characters of one kind that a shape repeats at most."""
_MOST_RUNS = 8
"""Runs of a word that its shape keeps."""


@lru_cache(maxsize=200_000)
def shape_of(word: str) -> str:
    """Uppercase letters as X, lowercase as x, caseless as c, digits as 0, other characters as they are.

    >>> shape_of("NF-kappaB"), shape_of("T"), shape_of("p65"), shape_of("水")
    ('XX-xxX', 'X', 'x00', 'c')
    """
    runs = islice(groupby(map(_kind, word)), _MOST_RUNS)
    return "".join(kind * len(tuple(islice(alike, _LONGEST_RUN))) for kind, alike in runs)


def _kind(character: str) -> str:
    if character.isupper():
        return "X"
    if character.islower():
        return "x"
    if character.isalpha():
        return "c"
    return "0" if character.isdigit() else character


def in_one_casing(words: Iterable[str]) -> bool:
    """Whether all letters are lowercase, or all uppercase: then casing is not informative."""
    text = "".join(words)
    return text.islower() or text.isupper()


class ShapeVocabulary:
    """Turns words into rows of the embedding of shapes."""

    def __init__(self, shapes: Iterable[str]) -> None:
        self._rows = {shape: row for row, shape in enumerate(shapes, UNKNOWN + 1)}

    def __len__(self) -> int:
        """Rows of the embedding, that of unknown shapes included."""
        return len(self._rows) + 1

    def rows(self, windows: Sequence[Window]) -> NDArray[np.int64]:
        """The row of every word's shape, flat. Hidden words get the unknown shape, as do all words of a text in one casing."""
        rows: list[int] = []
        for window in windows:
            if window.caseless or in_one_casing(window.words):
                rows += [UNKNOWN] * len(window.words)
            else:
                own = [self._rows.get(shape_of(plain_form(word)), UNKNOWN) for word in window.words]
                rows += [UNKNOWN if place in window.hidden else row for place, row in enumerate(own)] if window.hidden else own
        return np.array(rows, dtype=np.int64)

    @classmethod
    def learned(cls, documents: Sequence[Document], text: TextConfig) -> Self:
        """The frequent shapes, and at least the most frequent one, sorted."""
        words = (document.text[start:end] for document in documents for start, end in words_of(document, text))
        counts = Counter(shape_of(plain_form(word)) for word in words)
        often = {shape for shape, count in counts.items() if count >= _LEAST_OF_A_SHAPE}
        return cls(sorted(often or {shape for shape, _ in counts.most_common(1)}))

    def save(self, folder: Path) -> None:
        (folder / SHAPES).write_text(json.dumps({"shapes": list(self._rows)}, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """From the model folder; refuses a file that is missing, malformed or of word features that no longer exist."""
        path = folder / SHAPES
        if not path.is_file():
            raise AnynerError(f"{folder}: no {SHAPES}, which config.json requires")
        plain = read_json(path)
        shapes = plain.pop("shapes", None) if isinstance(plain, dict) else None
        if not isinstance(shapes, list) or not shapes or not all(isinstance(shape, str) and shape for shape in shapes):
            raise AnynerError(f"{path}: not a list of word shapes")
        if len(set(shapes)) != len(shapes):
            raise AnynerError(f"{path}: a word shape is listed twice")
        if unknown := [key for key, value in plain.items() if value]:  # empty ones: word features of earlier versions
            raise AnynerError(f"{path}: unknown key {unknown[0]!r}")
        return cls(shapes)
