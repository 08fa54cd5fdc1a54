"""The vocabularies of the optional word features: word shapes, part-of-speech tags, words that have a static vector.

They are built from the training documents, saved with the model, and turn words into row numbers. No torch here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anyner.document import Document
from anyner.encoding.config import FeatureConfig
from anyner.encoding.pieces import plain_form
from anyner.errors import AnynerError
from anyner.settings import Settings
from anyner.text.config import TextConfig
from anyner.text.windows import Window, tags_of, words_of

Integers = NDArray[np.int64]
FEATURES, VECTOR_WORDS = "features.json", "vectors.txt"
UNKNOWN = 0
"""Row of tags, shapes and words that are not in the vocabulary."""
_LEAST_OF_A_SHAPE = 8
"""Shapes seen fewer times in training count as unknown."""
_LONGEST_RUN = 2
"""Characters of one kind that a shape repeats at most."""
_MOST_RUNS = 8
"""Runs of a word that its shape keeps."""


@lru_cache(maxsize=200_000)
def shape_of(word: str) -> str:
    """Capitals as X, small letters as x, letters without case as c, digits as 0, signs as they are.

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
    """Whether all letters are small, or all are capitals: then casing says nothing."""
    text = "".join(words)
    return text.islower() or text.isupper()


class _Stored(Settings):
    """What `features.json` holds."""

    shapes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    vector_width: int = Field(default=0, ge=0)


class FeatureVocabulary:
    """Turns words and tags into rows; features that are off are empty."""

    def __init__(
        self,
        tags: Sequence[str] = (),
        vector_words: Sequence[str] = (),
        vector_width: int = 0,
        shapes: Sequence[str] = (),
    ) -> None:
        self.tags, self.shapes = tuple(tags), tuple(shapes)
        self.vector_words, self.vector_width = tuple(vector_words), vector_width
        self._tag_rows = {tag: row for row, tag in enumerate(self.tags, UNKNOWN + 1)}
        self._shape_rows = {shape: row for row, shape in enumerate(self.shapes, UNKNOWN + 1)}
        self._vector_rows = {word: row for row, word in enumerate(self.vector_words, UNKNOWN + 1)}

    def tag_rows(self, windows: Sequence[Window]) -> Integers:
        """The row of every word's tag, flat; dropped words and words without a tag are unknown."""
        rows: list[int] = []
        for window in windows:
            own = [UNKNOWN] * len(window.words) if window.pos is None else [self._tag_rows.get(t, UNKNOWN) for t in window.pos]
            for place in window.hidden:
                own[place] = UNKNOWN
            rows += own
        return np.array(rows, dtype=np.int64)

    def shape_rows(self, windows: Sequence[Window]) -> Integers:
        """The row of every word's shape, flat. Hidden words are unknown, and so are all words of a text in one casing."""
        known = self._shape_rows
        rows: list[int] = []
        for window in windows:
            if window.caseless or in_one_casing(window.words):
                rows += [UNKNOWN] * len(window.words)
            else:
                rows += [UNKNOWN if word is None else known.get(shape_of(plain_form(word)), UNKNOWN) for word in _visible(window)]
        return np.array(rows, dtype=np.int64)

    def vector_rows(self, windows: Sequence[Window]) -> Integers:
        """The row of every word's vector, flat: that of the word as it is, else of the word in lower case."""
        known = self._vector_rows
        rows = (
            UNKNOWN if word is None else known.get(word) or known.get(word.lower(), UNKNOWN)
            for window in windows
            for word in _visible(window)
        )
        return np.fromiter(rows, dtype=np.int64)

    def save(self, folder: Path) -> None:
        stored = _Stored(shapes=self.shapes, tags=self.tags, vector_width=self.vector_width)
        (folder / FEATURES).write_text(json.dumps(stored.model_dump(), ensure_ascii=False) + "\n", encoding="utf-8")
        if self.vector_width:
            lines = "".join(f"{word}\n" for word in self.vector_words)
            (folder / VECTOR_WORDS).write_text(lines, encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, folder: Path, config: FeatureConfig) -> FeatureVocabulary:
        """From the model folder; refuses a file that is missing, malformed or does not match the config."""
        path = folder / FEATURES
        plain = _plain(path)
        if plain.get("characters") == []:  # models of format 2 had a vocabulary of characters
            del plain["characters"]
        stored = _Stored.of(plain, str(path))
        for key, listed, expected in (
            ("shapes", stored.shapes, config.shapes > 0),
            ("tags", stored.tags, config.pos > 0),
        ):
            if bool(listed) != expected or len(set(listed)) != len(listed) or not all(listed):
                raise AnynerError(f"{path}: '{key}' is not a list of distinct {key}, or not what config.json says")
        if bool(stored.vector_width) != (config.vectors is not None):
            raise AnynerError(f"{path}: 'vector_width' is {stored.vector_width}, which is not what config.json says")
        words = _vector_words(folder / VECTOR_WORDS) if stored.vector_width else []
        return cls(stored.tags, words, stored.vector_width, stored.shapes)


def _plain(path: Path) -> dict[str, object]:
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise AnynerError(f"{path.parent}: no {path.name}, which config.json asks for") from None
    except (UnicodeDecodeError, ValueError, RecursionError, OSError) as error:
        raise AnynerError(f"{path}: not valid JSON: {next(iter(str(error).splitlines()), 'too deep')}") from None
    if not isinstance(plain, dict):
        raise AnynerError(f"{path}: not the vocabularies of word features")
    return plain


def _vector_words(path: Path) -> list[str]:
    """One word a line, split at line feeds only: some files of vectors have words that hold a carriage return."""
    try:
        words = path.read_bytes().decode().removesuffix("\n").split("\n")
    except FileNotFoundError:
        raise AnynerError(f"{path.parent}: no {path.name}, which {FEATURES} asks for") from None
    except UnicodeDecodeError:
        raise AnynerError(f"{path}: not UTF-8 text") from None
    if len(set(words)) != len(words) or not all(words):
        raise AnynerError(f"{path}: not a list of distinct words, one a line")
    return words


def _visible(window: Window) -> Sequence[str | None]:
    if not window.hidden:
        return window.words
    return [None if place in window.hidden else word for place, word in enumerate(window.words)]


def learned_shapes(documents: Sequence[Document], text: TextConfig) -> tuple[str, ...]:
    """The frequent shapes, and at least the most frequent one, sorted."""
    words = (document.text[start:end] for document in documents for start, end in words_of(document, text))
    counts = Counter(shape_of(plain_form(word)) for word in words)
    often = {shape for shape, count in counts.items() if count >= _LEAST_OF_A_SHAPE}
    return tuple(sorted(often or {shape for shape, _ in counts.most_common(1)}))


def learned_tags(documents: Sequence[Document], text: TextConfig, least: int) -> tuple[str, ...]:
    """The part-of-speech tags seen `least` times, sorted; it is an error if there is none."""
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(tags_of(document, text) or ())
    if not counts:
        hint = "set text.words to given" if any(d.pos for d in documents) else "no training document has part-of-speech tags"
        raise AnynerError(f"encoder.features.pos: there are no tags to learn from: {hint}")
    tags = tuple(sorted(tag for tag, count in counts.items() if count >= least))
    if not tags:
        raise AnynerError(
            f"encoder.features.pos: no tag is seen {least} times in training: lower encoder.features.pos_least_count"
        )
    return tags
