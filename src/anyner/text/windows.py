"""Documents of any length are split into overlapping windows that fit the encoder, and the windows' entities are merged.

Windows are built lazily: the words of a long document are never all in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate, chain, compress, count, islice
from operator import attrgetter
from typing import Any

from anyner.document import Document, Entity
from anyner.fragments import Fragment
from anyner.overlap import Policy, resolve
from anyner.text.align import WordEntity, to_characters
from anyner.text.config import TextConfig
from anyner.text.lines import LineStarts
from anyner.text.words import SplitterName, iterate_words

Pieces = tuple[int, ...]
PieceCutter = Callable[[Sequence[str]], list[Pieces]]
"""Returns the pieces of each word; every word has at least one."""
_CHUNK = 4096
_SHARED_WORDS = 48
"""Words that two neighbouring windows of a long document share."""
_MOST_CONTEXT = 96
"""Maximum number of pieces of context on each side; the farthest words are dropped."""


@dataclass(frozen=True, slots=True)
class Window:
    """The stretch of a document that goes through the encoder at once."""

    document: int
    """Number that identifies the document among those read together."""
    first_word: int
    """Index, in the document, of this window's first word."""
    starts: list[int]
    """Where each word starts, in characters of the document."""
    ends: list[int]
    words: list[str]
    pieces: list[Pieces]
    before: Pieces = ()
    """Pieces of the text before, read as context only."""
    after: Pieces = ()
    text: str = ""
    """The whole document's text."""
    hidden: frozenset[int] = frozenset()
    """Words hidden by word dropout: neither their pieces nor their shapes are shown."""
    line_starts: tuple[int, ...] = ()
    """Words that begin a line; the encoder reads a separator before each but the window's first word."""
    caseless: bool = False
    """Whether training hides the casing of its words."""

    @property
    def content_key(self) -> int:
        """A 64-bit hash of the words: the seed of all randomness for this window."""
        return int.from_bytes(blake2b("\x1f".join(self.words).encode(), digest_size=8).digest(), "little")

    def part(self, first: int, stop: int) -> Window:
        """The window of the words from `first` to `stop`."""
        return replace(
            self,
            **{name: getattr(self, name)[first:stop] for name in _PER_WORD},
            first_word=self.first_word + first,
            before=self.before if not first else (),
            after=self.after if stop == len(self.words) else (),
            hidden=frozenset(place - first for place in self.hidden if first <= place < stop),
            line_starts=tuple(place - first for place in self.line_starts if first <= place < stop),
        )

    @classmethod
    def joined(cls, windows: Sequence[Window], shifts: Sequence[int], breaks: Sequence[bool]) -> Window:
        """One window of several consecutive ones, for training. Positions in the text are lost.

        `shifts` counts the words before each of them, `breaks` says which of them start after a line break.
        """
        begins = [shift for shift, breaks_line in zip(shifts, breaks, strict=True) if breaks_line]
        inside = [shift + place for one, shift in zip(windows, shifts, strict=True) for place in one.line_starts if place]
        joined: dict[str, Any] = {name: list(chain.from_iterable(getattr(one, name) for one in windows)) for name in _PER_WORD}
        return replace(
            windows[0],
            **joined,
            after=windows[-1].after,
            text="",
            hidden=frozenset(shift + place for one, shift in zip(windows, shifts, strict=True) for place in one.hidden),
            line_starts=tuple(sorted({*begins, *inside})),
        )


_PER_WORD = ("starts", "ends", "words", "pieces")


def words_of(document: Document, text: TextConfig) -> Iterator[Fragment]:
    """The words a model reads: given ones if `text.words` says so and the document has them, else those of its splitter."""
    if text.words == "given" and document.words is not None:
        return iter(document.words)
    return iterate_words(document.text, text.splitter)


def windows_of(document: Document, number: int, text: TextConfig, budget: int, cut: PieceCutter) -> Iterator[Window]:
    """Windows of at most `budget` pieces, in order, each sharing words with the next. An empty text gives none."""
    words = words_of(document, text)
    held = _HeldWords(document, number)
    lines = LineStarts(document.text)
    while chunk := list(islice(words, _CHUNK)):
        strings = [document.text[start:end] for start, end in chunk]
        new = list(zip(chunk, strings, cut(strings), lines.flags(chunk), strict=True))
        size = _size(new)
        for part, pieces in [(new, size)] if held.size + size <= budget else [([word], _size([word])) for word in new]:
            if held.words and held.size + pieces > budget:
                yield held.window()
                held.keep(budget - pieces)
            held.words.extend(part)
            held.size += pieces
    if held.words:
        room = budget - held.size
        for_after = room // 2 if document.before and not held.first_word else room
        splitter = _splitter_of_neighbours(document, text)
        after = _context(document.after, splitter, cut, min(_MOST_CONTEXT, for_after), last=False)
        before = (
            () if held.first_word else _context(document.before, splitter, cut, min(_MOST_CONTEXT, room - len(after)), last=True)
        )
        yield held.window(before, after)


_Word = tuple[Fragment, str, Pieces, bool]
"""Position, word, pieces, and whether the word begins a line."""


def _size(words: Sequence[_Word]) -> int:
    """Pieces of the words, with a separator before each line."""
    return sum([len(pieces) + begins for _, _, pieces, begins in words])  # a list is faster than a generator


class _HeldWords:
    """The words read so far that are not yet in a finished window."""

    def __init__(self, document: Document, number: int) -> None:
        self._text, self._number = document.text, number
        self.first_word, self.size = 0, 0
        self.words: list[_Word] = []

    def keep(self, room: int) -> None:
        """Keeps only the last words, which the next window shares; fewer if they would leave no room for the next word.

        At most half of the window is kept: otherwise words of many pieces would be read again in every window.
        """
        kept = min(_SHARED_WORDS, len(self.words) - 1)
        room = min(room, self.size // 2)
        while kept and _size(self.words[-kept:]) > room:
            kept //= 2
        self.first_word += len(self.words) - kept
        self.words = self.words[len(self.words) - kept :]
        self.size = _size(self.words)

    def window(self, before: Pieces = (), after: Pieces = ()) -> Window:
        spans, words, pieces, begins = zip(*self.words, strict=True)
        return Window(
            self._number,
            self.first_word,
            starts=[start for start, _ in spans],
            ends=[end for _, end in spans],
            words=list(words),
            pieces=list(pieces),
            before=before,
            after=after,
            text=self._text,
            line_starts=tuple(compress(count(), begins)),
        )


def _splitter_of_neighbours(document: Document, text: TextConfig) -> SplitterName:
    """Where words are given, neighbouring texts are split at white space as well."""
    return "whitespace" if text.words == "given" and document.words is not None else text.splitter


def _context(context: str, splitter: SplitterName, cut: PieceCutter, room: int, last: bool) -> Pieces:
    """The pieces of the nearest words of a neighbouring text, as many as there is room for."""
    if not context or room <= 0:
        return ()
    pieces = cut(_words_in(context, splitter))
    sizes = list(map(len, pieces))
    if sum(sizes) > room:
        fitting = sum(size <= room for size in accumulate(reversed(sizes) if last else sizes))
        pieces = pieces[len(pieces) - fitting :] if last else pieces[:fitting]
    return tuple(chain.from_iterable(pieces))


@lru_cache(maxsize=64)
def _words_in(context: str, splitter: SplitterName) -> tuple[str, ...]:
    """Cached: a sentence is context for its neighbours on both sides, which are read soon after each other."""
    return tuple(context[start:end] for start, end in iterate_words(context, splitter))


class WindowMerger:
    """Merges the entities of one document's windows, which may disagree where they overlap.

    The border between two neighbouring windows is the middle of the words they share. An entity is taken only from the window
    on whose side its middle lies, which sees it whole. The overlap policy then applies across windows. Entities that no later
    window can affect are resolved at once, so little is held besides the result.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._windows = 0
        self.words = 0
        """Words of the document up to the end of the last window."""
        self._newest: list[tuple[int, Entity]] = []  # the last window's entities with their middles, until the next window
        self._chain: list[Entity] = []  # entities that start before the last window, a chain of overlaps that ends at `_reach`
        self._reach = 0
        self._open: list[Entity] = []  # later entities that those of a later window may still overlap
        self._settled: list[Entity] = []

    def add(self, window: Window, entities: Iterable[WordEntity]) -> None:
        """Adds the next window of the document; windows must come in order."""
        cut = 0
        if self._windows:
            cut = (window.first_word + self.words) // 2
            self._open.extend(entity for middle, entity in self._newest if middle < cut)
            self._settle(window.starts[0])
        self._windows += 1
        self.words = window.first_word + len(window.words)
        self._newest = []
        for entity in entities:
            middle = window.first_word + (entity.first + entity.last) // 2
            if middle >= cut:
                self._newest.append((middle, to_characters(entity, window.starts, window.ends, window.text)))

    def _settle(self, horizon: int) -> None:
        """Applies the policy to all chains of overlapping entities that end before the next window starts.

        A chain may be as long as the document, so it is not scanned again: only its end matters later.
        """
        self._open.sort(key=attrgetter("start"))
        taken = 0
        for entity in self._open:
            if entity.start >= horizon:
                break
            if entity.start >= self._reach:
                self._close()
            self._chain.append(entity)
            self._reach = max(self._reach, entity.end)
            taken += 1
        del self._open[:taken]
        if self._reach <= horizon:
            self._close()

    def _close(self) -> None:
        self._settled.extend(resolve(self._chain, self._policy))
        self._chain = []

    def entities(self) -> list[Entity]:
        """All entities, once every window has been added."""
        last = [entity for _, entity in self._newest]
        if self._windows <= 1:
            return last
        self._settled.extend(resolve(self._chain + self._open + last, self._policy))
        self._chain, self._open, self._newest = [], [], []
        return self._settled
