"""A stream: documents are cut into windows, windows wait in a pool, the model runs batches, documents come out in order."""

from __future__ import annotations

import gc
import reprlib
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from threading import Lock

from anyner.document import Document
from anyner.inference.pool import Flush, Pool, PooledBatch
from anyner.overlap import Policy
from anyner.text.align import WordEntity
from anyner.text.windows import Window, WindowMerger

_BATCHES_AHEAD, _PIECES_AHEAD = 8, 16_384
"""Size of the pool, whichever is larger. A larger pool would save little padding."""
_WAITING, _CHARACTERS_WAITING = 20_000, 4_000_000
"""Most documents and most of their characters held at once: a word of a million characters has few pieces."""
_MANY_UNKNOWN, _FEW_LETTERS = 0.5, 5
"""Warn of texts with a larger share of unknown words, unless they have so few letters: those say nothing about the language."""

Progress = Callable[[int], object]
"""Called after every batch with the number of words read so far."""


class UnknownWordsWarning(UserWarning):
    """Most words of a text are not in the model's vocabulary."""


class Stream:
    """One pass over documents. The first batch runs as soon as it is full, so that the first result comes soon; then the stream
    looks further ahead, as windows of similar length save padding."""

    def __init__(
        self,
        cut: Callable[[Document, int], Iterable[Window]],
        read: Callable[[Sequence[Window]], Sequence[Sequence[WordEntity]]],
        pool: Pool,
        assembly: Assembly,
        progress: Progress | None = None,
    ) -> None:
        self._cut, self._read, self._pool, self._assembly, self._progress = cut, read, pool, assembly, progress
        self._ahead = pool.tokens

    def documents(self, items: Iterable[Document | Flush]) -> Iterator[Document]:
        for item in items:
            if isinstance(item, Flush):
                yield from self._drained()
                continue
            number = self._assembly.expect(item)
            for window in self._cut(item, number):
                self._assembly.note(window)
                self._pool.add(window)
                while self._pool.pieces >= self._ahead:
                    yield from self._through(self._pool.take())
                    self._look_farther()
            self._assembly.complete(number)
            while self._assembly.full and self._pool.pieces:
                yield from self._through(self._pool.take())
            yield from self._assembly.finished()
        yield from self._drained()

    def _look_farther(self) -> None:
        tokens = self._pool.tokens
        self._ahead = min(self._ahead + tokens, max(_BATCHES_AHEAD * tokens, _PIECES_AHEAD))

    def _drained(self) -> Iterator[Document]:
        for batch in self._pool.take_all():
            yield from self._through(batch)

    def _through(self, batch: PooledBatch) -> list[Document]:
        """Runs a batch and yields the documents that are finished by it."""
        with collector_paused():
            self._assembly.add(batch, self._read(batch.windows))
            finished = list(self._assembly.finished())
        if self._progress is not None:
            self._progress(self._assembly.words)
        return finished


@dataclass(slots=True)
class _Open:
    """A document that is not finished yet. Words shared by windows count once."""

    document: Document
    words: int = 0
    shortened: int = 0
    unknown: int = 0
    merger: WindowMerger | None = None
    merged: int = 0
    """Words whose entities are known."""
    last: int | None = None
    """Number of windows in the stream up to the document's end, once known."""


class Assembly:
    """Merges the entities of windows into documents and returns finished documents in order."""

    def __init__(self, policy: Policy, shortened: Collection[str], unknown: UnknownWords) -> None:
        self.words = 0
        """Words whose entities are known, of all documents."""
        self._policy, self._shortened, self._unknown = policy, shortened, unknown
        self._open: dict[int, _Open] = {}
        self._found: dict[int, tuple[Window, Sequence[WordEntity]]] = {}  # of windows that have not had their turn
        self._first = self._cut = self._merged = 0  # the oldest open document; windows that were cut and merged
        self._characters = 0  # of open documents

    @property
    def full(self) -> bool:
        """Whether to stop reading ahead: texts without words, or of few long words, would pile up behind a waiting window."""
        return len(self._open) >= _WAITING or self._characters >= _CHARACTERS_WAITING

    def expect(self, document: Document) -> int:
        number = self._first + len(self._open)
        self._open[number] = _Open(document)
        self._characters += len(document.text)
        return number

    def note(self, window: Window) -> None:
        """Counts the words of the next window of the document that is being cut."""
        document = self._open[window.document]
        known = document.words - window.first_word
        if self._shortened:
            document.shortened += sum(word in self._shortened for word in window.words[known:])
        document.unknown += self._unknown.count(window, known)
        document.words = window.first_word + len(window.words)
        self._cut += 1

    def complete(self, number: int) -> None:
        """No window of this document follows."""
        self._open[number].last = self._cut

    def add(self, batch: PooledBatch, entities: Sequence[Sequence[WordEntity]]) -> None:
        """Takes windows in any order and merges them in their own."""
        for number, window, found in zip(batch.numbers, batch.windows, entities, strict=True):
            self._found[number] = (window, found)
        while self._merged in self._found:
            window, found = self._found.pop(self._merged)
            self._merged += 1
            document = self._open[window.document]
            if document.merger is None:
                document.merger = WindowMerger(self._policy)
            document.merger.add(window, found)
            stop = window.first_word + len(window.words)
            self.words += stop - document.merged
            document.merged = stop

    def finished(self) -> Iterator[Document]:
        """Every document whose windows are all merged, and all before it."""
        while (one := self._open.get(self._first)) and one.last is not None and one.last <= self._merged:
            del self._open[self._first]
            self._first += 1
            self._characters -= len(one.document.text)
            found = one.merger.entities() if one.merger else []
            coverage = 1.0 - one.shortened / one.words if one.shortened else 1.0
            document = one.document.with_entities(found, coverage, one.unknown / one.words if one.unknown else 0.0)
            self._unknown.warn_of(document)
            yield document


class UnknownWords:
    """Counts words with letters or digits that are not in the vocabulary: to the model they all look alike.

    Emoji and other signs do not count. They are seldom part of a name.
    """

    def __init__(self, piece: int | None) -> None:
        self._pieces = frozenset(() if piece is None else (piece,))
        self._warned = False

    def count(self, window: Window, start: int) -> int:
        """Unknown words of a window from word `start` on."""
        if self._pieces.isdisjoint(chain.from_iterable(window.pieces)):  # fast path: nearly always
            return 0
        words = zip(window.words[start:], window.pieces[start:], strict=True)
        return sum(not self._pieces.isdisjoint(pieces) and any(map(str.isalnum, word)) for word, pieces in words)

    def warn_of(self, document: Document) -> None:
        """Warns of the first text that is mostly unknown words."""
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
