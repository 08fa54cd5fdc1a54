"""`Recognizer`: from text to entities. Command line, training and every integration use it."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from anyner.architectures.settings import Decoding
from anyner.document import Document
from anyner.encoding.pieces import PieceVocabulary
from anyner.errors import AnynerError, InvalidInputError
from anyner.inference.config import ModelConfig
from anyner.inference.pool import Flush, Pool
from anyner.inference.runtime import Runtime, decoded
from anyner.inference.streaming import Progress, Stream, UnknownWords
from anyner.overlap import Policy, checked_policy
from anyner.text.align import WordEntity
from anyner.text.config import TextConfig
from anyner.text.windows import Window, windows_of

if TYPE_CHECKING:
    from anyner.model import NerModel


class Choices(TypedDict, total=False):
    """Keyword arguments of a call; those left out are as the model has them."""

    options: Mapping[str, Any] | None
    thresholds: Mapping[str, float] | None
    overlap: str | None
    batch_tokens: int | None
    progress: Progress | None


class Recognizer:
    """Finds entities with a trained model.

    >>> import anyner
    >>> ner = anyner.load("general-en")
    >>> [entity.text for entity in ner.predict("Angela Merkel lives in Berlin.").entities]
    ['Angela Merkel', 'Berlin']
    """

    def __init__(self, runtime: Runtime, vocabulary: PieceVocabulary, config: ModelConfig) -> None:
        self.runtime = runtime
        self.vocabulary = vocabulary
        self.config = config
        self.budget = word_budget(runtime, vocabulary, config)
        vocabulary.limit(self.budget)
        self._unknown = UnknownWords(unknown_piece(vocabulary))

    def __repr__(self) -> str:
        return f"<Recognizer {self.config.architecture}, {self.config.overlap}: {', '.join(self.config.labels)}>"

    @property
    def model(self) -> NerModel:
        """The torch model, if torch runs it."""
        model: NerModel | None = getattr(self.runtime, "model", None)
        if model is None:
            raise AnynerError('this model runs on ONNX Runtime, without torch: load it with runtime="torch"')
        return model

    @overload
    def predict(self, texts: str | Document, **chosen: Unpack[Choices]) -> Document: ...  # type: ignore[overload-overlap]
    @overload
    def predict(self, texts: Iterable[str] | Iterable[Document], **chosen: Unpack[Choices]) -> list[Document]: ...
    def predict(
        self, texts: str | Document | Iterable[str] | Iterable[Document], **chosen: Unpack[Choices]
    ) -> Document | list[Document]:
        """One text gives one document; a list of texts gives a list. For a list of words use `predict_words`.

        `chosen`: the keyword arguments of `stream`.
        """
        if isinstance(texts, str | Document):
            return next(self.stream([texts if isinstance(texts, Document) else Document(texts)], **chosen))
        _check_texts(texts)
        return list(self.stream(list(documents_in(texts)), **chosen))  # check all before predicting any

    def predict_words(self, words: Sequence[str], **chosen: Unpack[Choices]) -> Document:
        """Entities of one tokenised sentence."""
        if isinstance(words, str | bytes) or not isinstance(words, Iterable) or not all(isinstance(word, str) for word in words):
            raise AnynerError("predict_words takes a list of words (str); use predict for a text")
        return self.predict(Document.from_words(words), **chosen)

    def stream(
        self,
        texts: Iterable[str | Document | Flush],
        *,
        batch_tokens: int | None = None,
        options: Mapping[str, Any] | None = None,
        thresholds: Mapping[str, float] | None = None,
        overlap: str | None = None,
        progress: Progress | None = None,
    ) -> Iterator[Document]:
        """Documents with their entities, in order, in memory that does not grow with their number or length.

        The first come as soon as the texts fill one batch. Texts wait for others of similar length; if the source pauses,
        insert `FLUSH` (from `anyner.inference.pool`) to run the waiting ones at once. `progress` is called after every batch with
        the number of words read so far.
        """
        _check_texts(texts)
        batch_tokens = self.batch_tokens if batch_tokens is None else batch_tokens
        for name, given in (("options", options), ("thresholds", thresholds)):
            if not isinstance(given, Mapping | None):
                raise AnynerError(f"{name}: expected {{name: value}}, got {type(given).__name__}")
        if not isinstance(batch_tokens, int) or batch_tokens < 1:
            raise AnynerError(f"batch_tokens: expected at least 1, got {batch_tokens!r}")
        decoding = self.decoding(options, thresholds, overlap)
        stream = Stream(
            self._windows,
            partial(self._read, decoding=decoding),
            Pool(batch_tokens, self.vocabulary.frame.special, padded=self.runtime.padded),
            policy=decoding.policy,
            unknown=self._unknown,
            progress=progress,
            calibration=self.config.calibration,
        )
        return stream.documents(documents_in(texts))

    def _read(self, windows: Sequence[Window], decoding: Decoding) -> Sequence[Sequence[WordEntity]]:
        """The entities of the windows of one batch."""
        return decoded(self.runtime, self.runtime.propose(windows, decoding), len(windows), decoding)

    def _windows(self, document: Document, number: int) -> Iterator[Window]:
        return windows_of(document, number, self.config.text, self.budget, self.vocabulary.cut)

    def windows(self, documents: Sequence[Document]) -> list[Window]:
        """All windows of the documents, in order."""
        return [window for number, document in enumerate(documents) for window in self._windows(document, number)]

    @property
    def batch_tokens(self) -> int:
        """Default number of pieces per batch."""
        return self.runtime.batch_tokens

    def decoding(
        self,
        options: Mapping[str, Any] | None = None,
        thresholds: Mapping[str, float] | None = None,
        overlap: str | None = None,
    ) -> Decoding:
        """The model's own settings, overridden by those of a call.

        Thresholds of a call are compared with uncalibrated scores, and the calibrated thresholds of labels are ignored.
        """
        head = self.runtime.head
        chosen = dict(self.config.thresholds)
        loosest = {threshold.name: threshold.loosest for threshold in head.config.thresholds()}
        for name, value in (thresholds or {}).items():
            if name not in chosen:
                raise AnynerError(f"unknown threshold {name!r}; {self.config.architecture} has: {', '.join(chosen) or 'none'}")
            if not isinstance(value, Real) or isinstance(value, bool):
                raise AnynerError(f"threshold {name}: expected a number, got {value!r}")
            if not loosest[name] <= value <= 1:
                raise AnynerError(f"threshold {name}: expected {loosest[name]} to 1, got {value!r}")
            chosen[name] = float(value)
        policy: Policy = checked_policy(overlap) if overlap else self.config.overlap
        asked = head.CallOptions.of({**self.config.options, **(options or {})}, "options")
        of_labels: dict[str, float] = {}
        if self.config.calibration is not None and not thresholds:
            of_labels = {label: self.config.calibration.score(one) for label, one in self.config.calibration.thresholds.items()}
        if of_labels:
            lowest = min(of_labels.values())
            chosen |= {one.name: max(lowest, one.loosest) for one in head.config.thresholds() if one.of_score}
        return Decoding(head.labels, chosen, policy, head.config, asked, of_labels)


def documents_in(texts: Iterable[str | Document | Flush]) -> Iterator[Document | Flush]:
    """The texts as documents; anything else is refused with its index."""
    for place, text in enumerate(texts):
        if not isinstance(text, str | Document | Flush):
            shown = " ".join(reprlib.repr(text).split())
            raise AnynerError(f"texts[{place}] is {shown} ({type(text).__name__}): expected a str or a Document")
        try:
            document = Document(text) if isinstance(text, str) else text
        except InvalidInputError as error:
            raise InvalidInputError(f"texts[{place}]: {error}") from None
        yield document


def _check_texts(texts: object) -> None:
    """Refuses anything but an iterable of texts. A table would iterate over its column names."""
    if hasattr(texts, "columns"):
        named = ", ".join(map(str, list(texts.columns)[:5]))
        raise AnynerError(f'expected texts, got a {type(texts).__name__} with columns {named}: pass one column, as in df["text"]')
    if isinstance(texts, str | bytes | Document | Mapping) or not isinstance(texts, Iterable):
        raise AnynerError(f"expected a list or another iterable of texts or Documents, got {type(texts).__name__}")


def unknown_piece(vocabulary: PieceVocabulary) -> int | None:
    """The piece for unknown words; None for a tokenizer without one."""
    piece = vocabulary.frame.unknown
    named = (vocabulary.tokenizer.id_to_token(piece) or "").startswith(("[", "<"))
    return piece if named or piece not in vocabulary.cut(["a"])[0] else None


def window_pieces(limit: int | None, text: TextConfig) -> int:
    """Maximum number of pieces in a window, special ones included: `text.window`, or the encoder's limit, at most 512."""
    if text.window is not None and limit is not None and text.window > limit:
        raise AnynerError(f"text.window {text.window} is longer than the encoder's {limit}; set text.window <= {limit}")
    return text.window or min(512, limit or 512)


def word_budget(runtime: Runtime, vocabulary: PieceVocabulary, config: ModelConfig) -> int:
    """Pieces of a window left for words and context, besides the special ones."""
    window = window_pieces(runtime.most_pieces, config.text)
    budget = window - vocabulary.frame.special - 2
    if budget < 8:
        raise AnynerError(f"text.window {window} leaves {budget} pieces for words; set a larger text.window")
    return budget
