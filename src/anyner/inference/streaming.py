"""A stream: documents are cut into windows, windows wait in a pool, the model runs batches, documents come out in order."""

from __future__ import annotations

import gc
import reprlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from anyner.document import Document, Entity
from anyner.encoding.pieces import Shortened
from anyner.inference.config import Calibration
from anyner.inference.pool import Flush, Pool
from anyner.overlap import Policy
from anyner.text.align import WordEntity
from anyner.text.windows import Window, WindowMerger

_BATCHES_AHEAD, _PIECES_AHEAD, _UNPADDED_AHEAD = 8, 16_384, 65_536
"""Size of the pool, whichever is larger. More would save little padding; without padding, windows of equal size are rarer."""
_WAITING, _CHARACTERS_WAITING = 20_000, 4_000_000
"""Maximum number of documents, and of their characters, held at once: a word of a million characters has few pieces."""
_MANY_UNKNOWN, _FEW_LETTERS = 0.5, 5
"""Warn about texts with a larger share of unknown words, unless they have at most this many letters: too few to judge."""

Progress = Callable[[int], object]
"""Called after every batch with the number of words read so far."""


class UnknownWordsWarning(UserWarning):
    """Most words of a text are not in the model's vocabulary."""


@dataclass(slots=True)
class _Open:
    """A document that is not finished yet. Words shared by windows count once."""

    document: Document
    merger: WindowMerger
    words: int = 0
    """Words cut so far."""
    shortened: int = 0
    unknown: int = 0
    last: int | None = None
    """Number of windows in the stream up to the document's end, once known."""


class Stream:
    """One pass over documents. The first batch runs as soon as it is full, so that the first result comes soon; then the stream
    looks further ahead, as windows of similar length save padding."""

    def __init__(
        self,
        cut: Callable[[Document, int], Iterable[Window]],
        read: Callable[[Sequence[Window]], Sequence[Sequence[WordEntity]]],
        pool: Pool,
        *,
        policy: Policy,
        unknown: UnknownWords,
        progress: Progress | None,
        calibration: Calibration | None = None,
    ) -> None:
        self._cut, self._read, self._pool, self._policy, self._progress = cut, read, pool, policy, progress
        self._calibration = calibration
        self._unknown = unknown
        self._ahead = pool.tokens
        self._open: dict[int, _Open] = {}
        self._found: dict[int, tuple[Window, Sequence[WordEntity]]] = {}  # of windows that are not merged yet
        self._first = self._merged = 0  # oldest open document; number of merged windows
        self._words = 0  # words whose entities are known, of all documents
        self._characters = 0  # characters of open documents

    def documents(self, items: Iterable[Document | Flush]) -> Iterator[Document]:
        for item in items:
            if isinstance(item, Flush):
                yield from self._drained()
                continue
            number = self._first + len(self._open)
            opened = self._open[number] = _Open(item, WindowMerger(self._policy))
            self._characters += len(item.text)
            for window in self._cut(item, number):
                self._note(opened, window)
                self._pool.add(window)
                while self._pool.pieces >= self._ahead:
                    yield from self._through(self._pool.take())
                    most = max(_BATCHES_AHEAD * self._pool.tokens, _PIECES_AHEAD if self._pool.padded else _UNPADDED_AHEAD)
                    self._ahead = min(self._ahead + self._pool.tokens, most)
            opened.last = self._pool.added
            while self._full and self._pool.pieces:
                yield from self._through(self._pool.take())
            yield from self._finished()
        yield from self._drained()

    @property
    def _full(self) -> bool:
        """Whether to stop reading ahead: texts without words, or of few long words, would pile up behind a waiting window."""
        return len(self._open) >= _WAITING or self._characters >= _CHARACTERS_WAITING

    def _note(self, opened: _Open, window: Window) -> None:
        """Counts the words of the next window of a document."""
        known = opened.words - window.first_word
        opened.shortened += list(map(type, window.pieces[known:])).count(Shortened)
        opened.unknown += self._unknown.count(window, known)
        opened.words = window.first_word + len(window.words)

    def _drained(self) -> Iterator[Document]:
        for batch in self._pool.take_all():
            yield from self._through(batch)

    def _through(self, batch: Mapping[int, Window]) -> list[Document]:
        """Runs a batch and returns the documents that it finishes. Windows are merged in order."""
        with collector_paused():
            windows = list(batch.values())
            self._found.update(zip(batch, zip(windows, self._read(windows), strict=True), strict=True))
            while self._merged in self._found:
                window, found = self._found.pop(self._merged)
                self._merged += 1
                merger = self._open[window.document].merger
                self._words -= merger.words
                merger.add(window, found)
                self._words += merger.words
            finished = list(self._finished())
        if self._progress is not None:
            self._progress(self._words)
        return finished

    def _finished(self) -> Iterator[Document]:
        """The next documents, in order, whose windows are all merged."""
        while (one := self._open.get(self._first)) and one.last is not None and one.last <= self._merged:
            del self._open[self._first]
            self._first += 1
            self._characters -= len(one.document.text)
            words = max(one.words, 1)
            entities = calibrated(one.merger.entities(), self._calibration)
            document = one.document.with_entities(entities, 1.0 - one.shortened / words, one.unknown / words)
            self._unknown.warn_of(document)
            yield document


def calibrated(entities: Sequence[Entity], calibration: Calibration | None) -> Sequence[Entity]:
    """The entities with probabilities as scores. Called after overlaps are resolved: scores near 1 may become equal."""
    if calibration is None:
        return entities
    return [one if one.score is None else one.rescored(calibration.probability(one.score)) for one in entities]


class UnknownWords:
    """Counts words with letters or digits that are not in the vocabulary: they all look alike to the model.

    Emoji and other symbols do not count. They are rarely part of a name.
    """

    def __init__(self, piece: int | None) -> None:
        self._piece, self._warned = piece, False

    def count(self, window: Window, start: int) -> int:
        """Unknown words of a window from word `start` on."""
        words = zip(window.words[start:], window.pieces[start:], strict=True)
        unknown = [word for word, pieces in words if self._piece in pieces]
        return sum(any(map(str.isalnum, word)) for word in unknown)

    def warn_of(self, document: Document) -> None:
        """Warns once, about the first text that is mostly unknown words."""
        if not self._warned and mostly_unknown(document):
            self._warned = True
            warnings.warn(
                f"{document.unknown:.0%} of the words in {reprlib.repr(document.text)} are not in the model's vocabulary, so "
                "their entities are missed: use a model for their language. Document.unknown is the share of such words",
                UnknownWordsWarning,
                stacklevel=2,
            )


def mostly_unknown(document: Document) -> bool:
    """Whether a predicted document is in a script that the model does not know."""
    return document.unknown > _MANY_UNKNOWN and sum(map(str.isalnum, document.text)) > _FEW_LETTERS


_PAUSING = Lock()


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pauses the garbage collector: decoding makes many small objects but no cycles, and the collector takes a third of its time.

    Only one thread at a time pauses it, for one batch, so it cannot stay off for good.
    """
    if not _PAUSING.acquire(blocking=False):
        yield
        return
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
        _PAUSING.release()
