"""Files of static word vectors: the text form of GloVe and word2vec, also packed, or a `.npy` matrix with its words beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyner.corpora.annotation import shown
from anyner.corpora.textfiles import numbered_lines
from anyner.errors import AnynerError

Floats = NDArray[np.float32]
_HEADER = re.compile(r"(\d+) (\d+)")
_ROWS_AT_ONCE = 16_384


@dataclass(frozen=True, slots=True)
class WordVectors:
    """Distinct words; if the file has a word twice, the first vector is kept."""

    words: tuple[str, ...]
    matrix: Floats
    """(words + 1, width): row 0 is for unknown words and holds the mean, word n has row n + 1."""

    @property
    def width(self) -> int:
        return int(self.matrix.shape[1])


def read_vectors(path: str | Path) -> WordVectors:
    """Every word of the file; anything that is not a word with finite numbers is an error that names file and line."""
    file = Path(path).expanduser()
    if file.is_dir():
        raise AnynerError(f"{file}: is a folder, not a file of word vectors")
    words, rows = _from_matrix(file) if file.suffix == ".npy" else _from_text(file)
    if not words:
        raise AnynerError(f"{file}: has no word vectors")
    first: dict[str, int] = {}
    for number, word in enumerate(words):
        first.setdefault(word, number)
    matrix = np.empty((len(first) + 1, rows.shape[1]), dtype=np.float32)
    matrix[1:] = rows if len(first) == len(words) else rows[list(first.values())]
    matrix[0] = matrix[1:].mean(0, dtype=np.float64)
    return WordVectors(tuple(first), matrix)


def _from_matrix(path: Path) -> tuple[list[str], Floats]:
    listed = path.with_suffix(".txt")
    words = []
    for line, word in numbered_lines(listed):
        if not word:
            raise AnynerError(f"{listed}:{line}: no word")
        words.append(word)
    try:
        matrix = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise AnynerError(f"{path}: not a .npy matrix: {reason}") from None
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or not matrix.shape[1]:
        raise AnynerError(f"{path}: expected a matrix of numbers with one row a word")
    if len(matrix) != len(words):
        raise AnynerError(f"{path}: {len(matrix)} rows, but {listed.name} has {len(words)} words")
    with np.errstate(over="ignore"):
        rows = matrix.astype(np.float32)
    if not (finite := np.isfinite(rows).all(1)).all():
        raise AnynerError(
            f"{path}: row {int(finite.argmin())} ({shown(words[int(finite.argmin())])}) has a number that is not finite"
        )
    return words, rows


def _from_text(path: Path) -> tuple[list[str], Floats]:
    lines = ((number, text.rstrip(" ")) for number, text in numbered_lines(path))
    number, text = next(lines, (1, ""))
    header = _HEADER.fullmatch(text)
    said = int(header[1]) if header else None
    width = int(header[2]) if header else text.count(" ")
    if not width:
        raise AnynerError(f"{path}:{number}: {shown(text)} is neither a word with its vector nor the size of the file")
    words: list[str] = []
    blocks: list[Floats] = []
    for block in _blocks(lines if header else chain([(number, text)], lines)):
        own, rows = _words_with_rows(block, width, path)
        words += own
        blocks.append(rows)
    if said is not None and said != len(words):
        raise AnynerError(f"{path}: its first line says {said} words, but there are {len(words)}")
    return words, np.concatenate(blocks) if blocks else np.empty((0, width), dtype=np.float32)


def _blocks(lines: Iterator[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Some thousand lines at a time, to bound the memory held as text; skips empty lines."""
    filled = ((number, text) for number, text in lines if text)
    while block := list(islice(filled, _ROWS_AT_ONCE)):
        yield block


def _words_with_rows(block: list[tuple[int, str]], width: int, path: Path) -> tuple[list[str], Floats]:
    words: list[str] = []
    rows: list[list[float]] = []
    for number, text in block:
        word, *columns = text.rsplit(" ", width)  # from the right: some words hold blanks
        row = _numbers(columns)
        if not word or len(row) != width:
            raise _bad_line(path, number, text, width)
        words.append(word)
        rows.append(row)
    with np.errstate(over="ignore"):
        matrix = np.array(rows, dtype=np.float32)
    if not (finite := np.isfinite(matrix).all(1)).all():
        raise _bad_line(path, *block[int(finite.argmin())], width)
    return words, matrix


def _numbers(columns: Sequence[str]) -> list[float]:
    try:
        return [float(column) for column in columns]
    except ValueError:
        return []


def _bad_line(path: Path, number: int, text: str, width: int) -> AnynerError:
    return AnynerError(f"{path}:{number}: {shown(text)} is not a word and {width} finite numbers")
