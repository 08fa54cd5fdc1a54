"""The vocabularies of the optional word features: characters, shapes, part-of-speech tags, words that have a static vector.

They are made once from the training documents, saved beside the model, and turn words into numbers. No tensors here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anyner.document import Document
from anyner.encoding.config import FeatureConfig
from anyner.encoding.pieces import plain_form
from anyner.encoding.shapes import in_one_casing, shape_of
from anyner.errors import AnynerError
from anyner.settings import Settings
from anyner.text.config import TextConfig
from anyner.text.windows import Window, tags_of, words_of

Integers = NDArray[np.int64]
FEATURES, VECTOR_WORDS = "features.json", "vectors.txt"
UNKNOWN = 0
"""Row of tags, shapes and vectors for what has no row of its own."""
PADDING, UNKNOWN_CHARACTER, END = 0, 1, 2
"""Rows of characters that stand before those of the vocabulary."""
_MOST_CHARACTERS = 64
"""A longer word keeps its first three quarters and its end, as it does in pieces."""
_LEAST_OF_A_SHAPE = 8
"""Shapes seen fewer times in training share the row of those never seen."""
_REMEMBERED = 200_000
_HIDDEN_SPELLING = (UNKNOWN_CHARACTER, END)


@dataclass(frozen=True, slots=True)
class SpeltWords:
    """The distinct words of a batch, longest first, as characters."""

    characters: Integers  # (U, L)
    lengths: tuple[int, ...]
    word_of: Integers  # (W,) which of them each word of the batch is


class _Stored(Settings):
    """What `features.json` holds."""

    characters: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    vector_width: int = Field(default=0, ge=0)


class FeatureVocabulary:
    """Turns words, tags and characters into rows; what is not in use is empty."""

    def __init__(
        self,
        characters: Sequence[str] = (),
        tags: Sequence[str] = (),
        vector_words: Sequence[str] = (),
        vector_width: int = 0,
        shapes: Sequence[str] = (),
    ) -> None:
        self.characters, self.tags, self.shapes = tuple(characters), tuple(tags), tuple(shapes)
        self.vector_words, self.vector_width = tuple(vector_words), vector_width
        self._character_rows = {character: row for row, character in enumerate(self.characters, END + 1)}
        self._tag_rows = {tag: row for row, tag in enumerate(self.tags, UNKNOWN + 1)}
        self._shape_rows = {shape: row for row, shape in enumerate(self.shapes, UNKNOWN + 1)}
        self._vector_rows = {word: row for row, word in enumerate(self.vector_words, UNKNOWN + 1)}
        self._spellings: dict[str, tuple[int, ...]] = {}

    def tag_rows(self, windows: Sequence[Window]) -> Integers:
        """The row of every word's tag, flat; hidden words and words without a tag are unknown."""
        rows: list[int] = []
        for window in windows:
            own = [UNKNOWN] * len(window.words) if window.pos is None else [self._tag_rows.get(t, UNKNOWN) for t in window.pos]
            for place in window.hidden:
                own[place] = UNKNOWN
            rows += own
        return np.array(rows, dtype=np.int64)

    def shape_rows(self, windows: Sequence[Window]) -> Integers:
        """The row of every word's shape, flat. Hidden words are unknown, and all words of a text in one casing: there the shapes
        would only say that nothing is a name, or everything."""
        known = self._shape_rows
        rows: list[int] = []
        for window in windows:
            if window.caseless or in_one_casing(window.words):
                rows += [UNKNOWN] * len(window.words)
            else:
                rows += [UNKNOWN if word is None else known.get(shape_of(plain_form(word)), UNKNOWN) for word in _visible(window)]
        return np.array(rows, dtype=np.int64)

    def vector_rows(self, windows: Sequence[Window]) -> Integers:
        """The row of every word's vector, flat: that of the word as it stands, else of the word in small letters."""
        known = self._vector_rows
        rows = (
            UNKNOWN if word is None else known.get(word) or known.get(word.lower(), UNKNOWN)
            for window in windows
            for word in _visible(window)
        )
        return np.fromiter(rows, dtype=np.int64)

    def spelt(self, windows: Sequence[Window]) -> SpeltWords:
        words = [word for window in windows for word in _visible(window)]
        distinct = dict.fromkeys(words)
        spellings = dict(zip(distinct, self._spell(list(distinct)), strict=True))
        ordered = sorted(spellings, key=lambda word: len(spellings[word]), reverse=True)
        lengths = np.array([len(spellings[word]) for word in ordered])
        mask = np.arange(lengths.max()) < lengths[:, None]
        characters = np.full(mask.shape, PADDING, dtype=np.int64)
        flat = chain.from_iterable(spellings[word] for word in ordered)
        characters[mask] = np.fromiter(flat, dtype=np.int64, count=int(lengths.sum()))
        number = {word: place for place, word in enumerate(ordered)}
        word_of = np.fromiter((number[word] for word in words), dtype=np.int64, count=len(words))
        return SpeltWords(characters, tuple(lengths.tolist()), word_of)

    def _spell(self, words: Sequence[str | None]) -> list[tuple[int, ...]]:
        """The rows of each word's characters and of the end; each word is looked up once and remembered."""
        known = self._spellings
        if len(known) + len(words) > _REMEMBERED:
            known = self._spellings = {}  # another thread keeps the one it has
        rows = self._character_rows
        spellings = []
        for word in words:
            spelling = _HIDDEN_SPELLING if word is None else known.get(word)
            if spelling is None:
                assert word is not None
                spelling = known[word] = (*(rows.get(c, UNKNOWN_CHARACTER) for c in _shortened(word)), END)
            spellings.append(spelling)
        return spellings

    def save(self, folder: Path) -> None:
        stored = _Stored(characters=self.characters, shapes=self.shapes, tags=self.tags, vector_width=self.vector_width)
        (folder / FEATURES).write_text(json.dumps(stored.model_dump(), ensure_ascii=False) + "\n", encoding="utf-8")
        if self.vector_width:
            lines = "".join(f"{word}\n" for word in self.vector_words)
            (folder / VECTOR_WORDS).write_text(lines, encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, folder: Path, config: FeatureConfig) -> FeatureVocabulary:
        """From the model folder; a file that is missing, malformed or not what the config asks for is refused."""
        path = folder / FEATURES
        stored = _Stored.of(_plain(path), str(path))
        for key, listed, wanted in (
            ("characters", stored.characters, config.characters > 0),
            ("shapes", stored.shapes, config.shapes > 0),
            ("tags", stored.tags, config.pos > 0),
        ):
            if bool(listed) != wanted or len(set(listed)) != len(listed) or not all(listed):
                raise AnynerError(f"{path}: '{key}' is not a list of distinct {key}, or not what config.json says")
        if not all(len(character) == 1 for character in stored.characters):
            raise AnynerError(f"{path}: 'characters' has an entry that is not one character")
        if bool(stored.vector_width) != (config.vectors is not None):
            raise AnynerError(f"{path}: 'vector_width' is {stored.vector_width}, which is not what config.json says")
        words = _vector_words(folder / VECTOR_WORDS) if stored.vector_width else []
        return cls(stored.characters, stored.tags, words, stored.vector_width, stored.shapes)


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
    """One word a line, to the last character: some files of vectors have words that hold a carriage return."""
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


def _shortened(word: str) -> str:
    if len(word) <= _MOST_CHARACTERS:
        return word
    end = _MOST_CHARACTERS // 4
    return word[: _MOST_CHARACTERS - end] + word[-end:]


def learned_characters(documents: Sequence[Document], text: TextConfig) -> tuple[str, ...]:
    """Every character of the words that a training reads, in order of code."""
    seen: set[str] = set()
    for document in documents:
        for start, end in words_of(document, text):
            seen.update(document.text[start:end])
    return tuple(sorted(seen))


def learned_shapes(documents: Sequence[Document], text: TextConfig) -> tuple[str, ...]:
    """The shapes of words that are seen often enough, and the most frequent one in any case, in order of code."""
    words = (document.text[start:end] for document in documents for start, end in words_of(document, text))
    counts = Counter(shape_of(plain_form(word)) for word in words)
    often = {shape for shape, count in counts.items() if count >= _LEAST_OF_A_SHAPE}
    return tuple(sorted(often or {shape for shape, _ in counts.most_common(1)}))


def learned_tags(documents: Sequence[Document], text: TextConfig, least: int) -> tuple[str, ...]:
    """The part-of-speech tags that are seen often enough, in order of code; it is an error if there is none."""
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
