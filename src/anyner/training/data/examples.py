"""From documents to training examples, and what to report before the first step: problems, unreachable gold, leaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from anyner.architectures.settings import HeadConfig
from anyner.corpora.corpus import Problem, counted, summary
from anyner.document import Document
from anyner.encoding.examples import Example, WindowSoftLabels
from anyner.inference.config import ModelConfig
from anyner.inference.recognizer import Recognizer, unknown_piece
from anyner.inference.streaming import UnknownWords
from anyner.text.align import WordEntity, to_words
from anyner.text.config import TextConfig
from anyner.text.windows import Window, words_of
from anyner.training.data.splits import DocumentSoftLabels, Splits

_MOST_UNKNOWN = 0.2
"""Share of unknown words above which the encoder is reported as unsuitable."""
_MOST_REPEATED = 0.1
"""Share of dev documents that may repeat train: greetings and headings occur in every corpus."""
_SHOWN_LABELS = 12
_SOFT_LABEL_WEIGHT = 0.5
"""Weight of the soft labels in the targets; gold has the rest."""


@dataclass(slots=True)
class DataCheck:
    """Findings about the data."""

    problems: tuple[Problem, ...] = ()
    entities: int = 0
    misaligned: list[str] = field(default_factory=list)
    unreachable: Counter[str] = field(default_factory=Counter)
    unknown_labels: Counter[str] = field(default_factory=Counter)
    words: int = 0
    unknown_words: int = 0
    """Training words that are not in the encoder's vocabulary."""
    dev_from_train: int = 0
    """Dev documents whose source document is also in train."""
    dev: int = 0
    """Dev documents."""
    dev_repeated: int = 0
    """Dev documents without a `doc` that have the text of a training document."""

    def lines(self) -> list[str]:
        """One line for each finding that the user should know."""
        found = []
        if self.problems:
            found.append(summary(self.problems))
        if self.misaligned:
            found.append(
                f"{counted(len(self.misaligned), 'entity is', 'entities are')} not on word boundaries, e.g. {self.misaligned[0]}"
            )
        for reason, count in self.unreachable.most_common():
            share = 100 * count / max(1, self.entities)
            found.append(f"{count} of {self.entities} training entities ({share:.1f} %) cannot be predicted: {reason}")
        if self.unknown_words > _MOST_UNKNOWN * self.words:
            share = self.unknown_words / self.words
            found.append(
                f"{share:.0%} of the training words are not in the encoder's vocabulary, so it cannot tell them apart: "
                "choose an encoder for their language (--encoder)"
            )
        if unknown := self.unknown_labels.most_common():
            listed = [f"{label} ({count:,})" for label, count in unknown[:_SHOWN_LABELS]]
            listed += [f"and {len(unknown) - _SHOWN_LABELS:,} more"] if len(unknown) > _SHOWN_LABELS else []
            entities = counted(self.unknown_labels.total(), "dev entity has a label", "dev entities have labels")
            found.append(f"{entities} that train does not have, counted as missed: {', '.join(listed)}")
        if self.dev_from_train:
            found.append(
                f"{self.dev_from_train} of {self.dev} dev documents have a source document (`doc`) of train: "
                "dev scores are too high; data.held_out splits by source document"
            )
        if self.dev_repeated > _MOST_REPEATED * self.dev:
            found.append(
                f"{self.dev_repeated} of {self.dev} dev documents have the text of a train document: dev scores are too high"
            )
        return found


def training_examples(
    recognizer: Recognizer, data: Splits, entities: Sequence[Sequence[WordEntity]], oversample: int, check: DataCheck
) -> Iterator[Example]:
    """An example for each window of each training document. `entities` are those of each document, in words.

    Examples with discontinuous entities are seen `oversample` times in an epoch, unless they come from augmentation.
    """
    config, head = recognizer.config, recognizer.model.head.config
    soft_labels = data.soft_labels or (None,) * len(data.train)
    unknown = UnknownWords(unknown_piece(recognizer.vocabulary))
    for place, (document, gold, soft) in enumerate(zip(data.train, entities, soft_labels, strict=True)):
        windows = recognizer.windows([document])
        note_unreachable(check, head, windows, gold)
        check.words += sum(len(window.words) for window in windows)
        check.unknown_words += sum(unknown.count(window, 0) for window in windows)
        # a label that the document has is annotated, whatever its `labels` say
        annotated = None if document.labels is None else document.labels | {entity.label for entity in document.entities}
        times = oversample if place < len(data.train) - data.augmented else 1
        for window, of_window in zip(windows, _soft_labels(document, soft, windows, config), strict=True):
            example = Example.of(window, entities_in(window, gold), config.labels, annotated, of_window)
            yield replace(example, source=document.doc, times=1 if example.entities.contiguous.all() else times)
    sources = {document.doc for document in data.train} - {None}
    check.dev_from_train = sum(document.doc in sources for document in data.dev)
    texts = {document.text for document in data.dev}
    repeated = {document.text for document in data.train if document.text in texts}
    check.dev, check.dev_repeated = len(data.dev), sum(one.doc is None and one.text in repeated for one in data.dev)
    check.unknown_labels.update(e.label for document in data.dev for e in document.entities if e.label not in config.labels)


def _soft_labels(
    document: Document, soft: DocumentSoftLabels | None, windows: Sequence[Window], config: ModelConfig
) -> list[WindowSoftLabels | None]:
    """The soft labels of each window."""
    if soft is None:
        return [None] * len(windows)
    predicted = word_entities(replace(document, entities=soft.entities), config.text, DataCheck())
    return [
        WindowSoftLabels.of(entities_in(window, predicted), config.labels, _SOFT_LABEL_WEIGHT, soft.covers_discontinuous)
        for window in windows
    ]


def word_entities(document: Document, text: TextConfig, check: DataCheck) -> list[WordEntity]:
    """The entities of a document in words; those not on word boundaries are recorded in `check`."""
    words = list(words_of(document, text))
    aligned = to_words(document.entities, [start for start, _ in words], [end for _, end in words])
    check.misaligned.extend(f"{document.id or 'a document'}: {misalignment}" for misalignment in aligned.misaligned)
    check.entities += len(document.entities)
    return list(aligned.entities)


def entities_in(window: Window, entities: Sequence[WordEntity]) -> list[WordEntity]:
    """The entities wholly inside a window, in its word numbers."""
    first, stop = window.first_word, window.first_word + len(window.words)
    inside = [entity for entity in entities if first <= entity.first and entity.last < stop]
    if not first:
        return inside
    return [replace(e, fragments=tuple((start - first, end - first) for start, end in e.fragments)) for e in inside]


def note_unreachable(check: DataCheck, config: HeadConfig, windows: Sequence[Window], entities: Sequence[WordEntity]) -> None:
    """Counts gold that no window holds whole, or that the architecture's settings cannot express."""
    reached: set[WordEntity] = set()
    for window in windows:
        first, stop = window.first_word, window.first_word + len(window.words)
        whole = [entity for entity in entities if first <= entity.first and entity.last < stop]
        reasons = config.unreachable(entities_in(window, whole), [len(pieces) for pieces in window.pieces])
        for entity, reason in zip(whole, reasons, strict=True):
            if entity not in reached:
                reached.add(entity)
                check.unreachable.update([reason] if reason else [])
    if missed := len(entities) - len(reached):
        check.unreachable["longer than a window"] += missed
