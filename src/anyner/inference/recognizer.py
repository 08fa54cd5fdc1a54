"""`Recognizer`: the one door from text to entities. Command line, training and every integration go through it."""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from typing import Any, overload

from anyner.architectures.settings import Decoding
from anyner.document import Document
from anyner.encoding.encoder import Encoder
from anyner.encoding.pieces import PieceVocabulary
from anyner.errors import AnynerError
from anyner.inference.batching import window_size
from anyner.inference.config import ModelConfig, Precision
from anyner.inference.proposing import Proposer
from anyner.model import NerModel
from anyner.overlap import Policy, checked_policy
from anyner.text.align import WordEntity
from anyner.text.config import TextConfig
from anyner.text.windows import Window, WindowMerger, windows_of

BATCH_TOKENS, GPU_BATCH_TOKENS = 16_384, 65_536
"""Pieces of a batch: larger batches have more padding, which a GPU hardly feels beside starting its kernels more often."""
_BUFFERED_BATCHES = 8
_WAITING = 20_000


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen for one call; what is None is as the model has it."""

    options: Mapping[str, Any] | None = None
    thresholds: Mapping[str, float] | None = None
    overlap: str | None = None


class Recognizer:
    """Finds entities with a trained model.

    >>> import anyner
    >>> ner = anyner.load("general-en")
    >>> [entity.text for entity in ner.predict("Angela Merkel lives in Berlin.").entities]
    ['Angela Merkel', 'Berlin']
    """

    def __init__(self, model: NerModel, vocabulary: PieceVocabulary, config: ModelConfig, precision: Precision = "auto") -> None:
        self.model = model
        self.vocabulary = vocabulary
        self.config = config
        self.budget = word_budget(model, vocabulary, config)
        vocabulary.limit(self.budget)
        self._proposer = Proposer(model, vocabulary, prompt_pieces(model, vocabulary), config.seed, precision)

    @overload
    def predict(self, texts: str | Document, **chosen: Any) -> Document: ...
    @overload
    def predict(self, texts: Sequence[str] | Sequence[Document], **chosen: Any) -> list[Document]: ...
    def predict(self, texts: str | Document | Sequence[str] | Sequence[Document], **chosen: Any) -> Document | list[Document]:
        """One text gives one document; a list of texts gives a list. A list of words is `predict_words`.

        `chosen`: options, thresholds, overlap, batch_tokens, as `stream` takes them.
        """
        if isinstance(texts, str | Document):
            return next(self.stream([texts], **chosen))
        return list(self.stream(texts, **chosen))

    def predict_words(self, words: Sequence[str], **chosen: Any) -> Document:
        """Entities of one sentence that is already cut into words."""
        if isinstance(words, str | bytes) or not isinstance(words, Iterable) or not all(isinstance(word, str) for word in words):
            raise AnynerError("predict_words takes a list of words, each of them a str; a text is for predict")
        return self.predict(Document.from_words(words), **chosen)

    def stream(
        self,
        texts: Iterable[str | Document],
        *,
        batch_tokens: int | None = None,
        options: Mapping[str, Any] | None = None,
        thresholds: Mapping[str, float] | None = None,
        overlap: str | None = None,
    ) -> Iterator[Document]:
        """Documents with their entities, in order, in memory that does not grow with their number or length."""
        if isinstance(texts, str | bytes | Document | Mapping) or not isinstance(texts, Iterable):
            raise AnynerError(f"texts or Documents in a list or another iterable are expected, got {type(texts).__name__}")
        batch_tokens = self.batch_tokens if batch_tokens is None else batch_tokens
        for name, given in (("options", options), ("thresholds", thresholds)):
            if not isinstance(given, Mapping | None):
                raise AnynerError(f"{name} are given by name, as {{name: value}}, not as {type(given).__name__}")
        if not isinstance(batch_tokens, int) or batch_tokens < 1:
            raise AnynerError(f"batch_tokens is {batch_tokens!r}, but a batch needs at least one token")
        decoding = self.decoding(Choice(options, thresholds, overlap))
        return self._stream(map(as_document, texts), decoding, batch_tokens)

    def _stream(self, documents: Iterator[Document], decoding: Decoding, batch_tokens: int) -> Iterator[Document]:
        assembly = Assembly(decoding.policy, self.vocabulary.shortened)
        held: list[Window] = []
        size = 0
        for number, document in enumerate(documents):
            assembly.expect(document)
            ready: list[Document] = []
            for window in self._windows(document, number):
                held.append(window)
                size += window_size(window)
                if size >= _BUFFERED_BATCHES * batch_tokens:
                    ready += self._through(held, assembly, decoding, batch_tokens, beyond=number)
                    held, size = [], 0
            if assembly.full:
                ready += self._through(held, assembly, decoding, batch_tokens, beyond=number + 1)
                held, size = [], 0
            yield from ready
            yield from assembly.finished(beyond=held[0].document if held else number + 1)
        yield from self._through(held, assembly, decoding, batch_tokens, beyond=None)

    def _through(
        self, held: Sequence[Window], assembly: Assembly, decoding: Decoding, batch_tokens: int, beyond: int | None
    ) -> list[Document]:
        """Runs the windows held and gives the documents before number `beyond`, which are then finished."""
        with collector_paused():
            assembly.add(held, self._decoded(held, decoding, batch_tokens))
            return list(assembly.finished(beyond))

    def _windows(self, document: Document, number: int) -> Iterator[Window]:
        return windows_of(document, number, self.config.text, self.budget, self.vocabulary.cut)

    def windows(self, documents: Sequence[Document]) -> list[Window]:
        """All windows of the documents, in order."""
        return [window for number, document in enumerate(documents) for window in self._windows(document, number)]

    def _decoded(self, windows: Sequence[Window], decoding: Decoding, batch_tokens: int) -> list[list[WordEntity]]:
        entities: list[list[WordEntity]] = [[] for _ in windows]
        for proposed in self._proposer.propose(windows, decoding, batch_tokens):
            decoded = self.model.head.decode(proposed.proposals, len(proposed.places), decoding)
            for place, found in zip(proposed.places, decoded, strict=True):
                entities[place] = found
        return entities

    @property
    def batch_tokens(self) -> int:
        """Pieces of a batch unless a call says otherwise."""
        return GPU_BATCH_TOKENS if self._proposer.device.type == "cuda" else BATCH_TOKENS

    @property
    def proposer(self) -> Proposer:
        return self._proposer

    def decoding(self, choice: Choice) -> Decoding:
        """What decides over proposals: the model's own settings with this call's choices on top."""
        head = self.model.head
        thresholds = dict(self.config.thresholds)
        for name, value in (choice.thresholds or {}).items():
            if name not in thresholds:
                raise AnynerError(
                    f"there is no threshold {name!r}; {self.config.architecture} has: {', '.join(thresholds) or 'none'}"
                )
            loosest = next(threshold.loosest for threshold in head.config.thresholds() if threshold.name == name)
            if not isinstance(value, Real):
                raise AnynerError(f"threshold {name} is {value!r}, which is no number")
            if not value >= loosest:
                raise AnynerError(f"threshold {name} is {value!r}, but proposals are only made from {loosest} on")
            thresholds[name] = float(value)
        policy: Policy = checked_policy(choice.overlap) if choice.overlap else self.config.overlap
        options = head.CallOptions.of({**self.config.options, **(choice.options or {})}, "options")
        return Decoding(tuple(head.labels), thresholds, policy, head.config, options)


class Assembly:
    """Puts windows' entities together into documents and gives finished documents back in order."""

    def __init__(self, policy: Policy, shortened: Collection[str]) -> None:
        self._policy = policy
        self._shortened = shortened
        self._waiting: dict[int, Document] = {}
        self._mergers: dict[int, WindowMerger] = {}
        self._words: dict[int, tuple[int, int]] = {}  # words seen, words not read whole; what windows share counts once
        self._next = 0

    @property
    def full(self) -> bool:
        """Whether enough documents wait: texts without a word would otherwise pile up behind a window that has not run yet."""
        return len(self._waiting) >= _WAITING

    def expect(self, document: Document) -> None:
        self._waiting[self._next + len(self._waiting)] = document

    def add(self, windows: Sequence[Window], entities: Sequence[Sequence[WordEntity]]) -> None:
        for window, found in zip(windows, entities, strict=True):
            merger = self._mergers.get(window.document)
            if merger is None:
                merger = self._mergers[window.document] = WindowMerger(self._policy)
            merger.add(window, found)
            seen, short = self._words.get(window.document, (0, 0))
            if self._shortened:
                short += sum(word in self._shortened for word in window.words[seen - window.first_word :])
            self._words[window.document] = (window.first_word + len(window.words), short)

    def finished(self, beyond: int | None) -> Iterator[Document]:
        """Every document before number `beyond`; None: all that are left."""
        while self._next in self._waiting and (beyond is None or self._next < beyond):
            document = self._waiting.pop(self._next)
            seen, short = self._words.pop(self._next, (0, 0))
            merger = self._mergers.pop(self._next, None)
            found = merger.entities() if merger else []
            yield document.with_entities(found, coverage=1.0 - short / seen if short else 1.0)
            self._next += 1


@contextmanager
def collector_paused() -> Iterator[None]:
    """Python's search for reference cycles rests: decoding makes many small objects but no cycle: a third of its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def as_document(text: str | Document) -> Document:
    if isinstance(text, Document):
        return text
    if isinstance(text, str):
        return Document(text)
    raise AnynerError(f"a text or a Document is expected, got {type(text).__name__}")


def prompt_pieces(model: NerModel, vocabulary: PieceVocabulary) -> tuple[int, ...]:
    words = model.head.config.prompt(model.labels)
    return tuple(piece for pieces in vocabulary.cut(words) for piece in pieces) if words else ()


def window_pieces(encoder: Encoder, text: TextConfig) -> int:
    """Most pieces a window has, special ones included: as set, or what the encoder can take, at most 512."""
    limit = encoder.most_pieces
    if text.window is not None and limit is not None and text.window > limit:
        raise AnynerError(f"text.window {text.window} is longer than the encoder's {limit}; set text.window <= {limit}")
    return text.window or min(512, limit or 512)


def word_budget(model: NerModel, vocabulary: PieceVocabulary, config: ModelConfig) -> int:
    """Pieces a window has for words and context: the window less special pieces and the architecture's prompt."""
    window = window_pieces(model.encoder, config.text)
    frame = vocabulary.frame
    budget = window - len(frame.prefix) - len(frame.suffix) - 2 - len(prompt_pieces(model, vocabulary))
    if budget < 8:
        raise AnynerError(f"text.window {window} leaves {budget} pieces for words; set text.window larger")
    return budget
