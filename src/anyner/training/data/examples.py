"""From documents to training examples, and what to tell the user before the first step: problems, unreachable gold, leaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from anyner.architectures.settings import HeadConfig
from anyner.corpora.corpus import Problem, summary
from anyner.document import Document
from anyner.encoding.examples import Example, WindowSoftLabels
from anyner.inference.recognizer import Recognizer
from anyner.text.align import WordEntity, to_words
from anyner.text.config import TextConfig
from anyner.text.windows import Window, words_of
from anyner.training.config import DataConfig
from anyner.training.data.soft_labels import DocumentSoftLabels
from anyner.training.data.splits import Splits


@dataclass(slots=True)
class DataCheck:
    """What was noticed in the data."""

    problems: tuple[Problem, ...] = ()
    entities: int = 0
    misaligned: list[str] = field(default_factory=list)
    unreachable: Counter[str] = field(default_factory=Counter)
    unknown_labels: Counter[str] = field(default_factory=Counter)
    dev_from_train: int = 0
    """Dev documents from source documents that train has as well."""

    def lines(self) -> list[str]:
        """One line for each thing a user should know."""
        found = []
        if self.problems:
            found.append(summary(self.problems))
        if self.misaligned:
            found.append(f"{len(self.misaligned)} entities are not on word boundaries, e.g. {self.misaligned[0]}")
        for reason, count in self.unreachable.most_common():
            share = 100 * count / max(1, self.entities)
            found.append(f"{count} of {self.entities} training entities ({share:.1f} %) cannot be predicted: {reason}")
        for label, count in self.unknown_labels.most_common():
            found.append(f"{count} dev entities have the label {label}, which train does not have: they count as missed")
        if self.dev_from_train:
            found.append(
                f"{self.dev_from_train} dev documents share a source document (`doc`) with train: dev scores are too high; "
                "data.held_out splits by source document"
            )
        return found


def training_examples(
    recognizer: Recognizer, data: Splits, entities: Sequence[Sequence[WordEntity]], config: DataConfig, check: DataCheck
) -> list[Example]:
    """An example for each window of each training document. `entities` are those of each document, in words."""
    examples: list[Example] = []
    soft_labels = data.soft_labels or (None,) * len(data.train)
    first_augmented = len(data.train) - data.augmented
    for place, (document, gold, soft) in enumerate(zip(data.train, entities, soft_labels, strict=True)):
        windows = recognizer.windows([document])
        note_unreachable(check, recognizer.model.head.config, windows, gold)
        own = _document_examples(recognizer, document, windows, gold, _soft_entities(document, soft, recognizer, config))
        examples += own if place >= first_augmented else _oversampled(own, config.oversample_discontinuous)
    _note_dev(check, data, recognizer.config.labels)
    return examples


@dataclass(frozen=True, slots=True)
class _SoftEntities:
    entities: Sequence[WordEntity]
    weight: float
    covers_discontinuous: bool

    def in_window(self, window: Window, labels: Sequence[str]) -> WindowSoftLabels:
        return WindowSoftLabels.of(entities_in(window, self.entities), labels, self.weight, self.covers_discontinuous)


def _soft_entities(
    document: Document, soft: DocumentSoftLabels | None, recognizer: Recognizer, config: DataConfig
) -> _SoftEntities | None:
    if soft is None:
        return None
    in_words = word_entities(replace(document, entities=soft.entities), recognizer.config.text, DataCheck())
    return _SoftEntities(in_words, config.soft_label_weight, soft.covers_discontinuous)


def _document_examples(
    recognizer: Recognizer,
    document: Document,
    windows: Sequence[Window],
    gold: Sequence[WordEntity],
    soft: _SoftEntities | None,
) -> list[Example]:
    labels = recognizer.config.labels
    # a label that the document has is annotated, whatever its `labels` say
    annotated = None if document.labels is None else document.labels | {entity.label for entity in document.entities}
    return [
        replace(
            Example.of(
                window, entities_in(window, gold), labels, annotated, None if soft is None else soft.in_window(window, labels)
            ),
            source=document.doc,
        )
        for window in windows
    ]


def _oversampled(examples: Sequence[Example], times: int) -> Iterator[Example]:
    """Examples with discontinuous entities are seen so many times in an epoch."""
    return (example if example.contiguous.all() else replace(example, times=times) for example in examples)


def _note_dev(check: DataCheck, data: Splits, labels: Sequence[str]) -> None:
    sources = {document.doc for document in data.train} - {None}
    check.dev_from_train = sum(document.doc in sources for document in data.dev)
    check.unknown_labels.update(e.label for document in data.dev for e in document.entities if e.label not in labels)


def word_entities(document: Document, text: TextConfig, check: DataCheck) -> list[WordEntity]:
    """The entities of a document in words; those not on word boundaries are noted."""
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
        inside = entities_in(window, entities)
        sizes = [len(pieces) for pieces in window.pieces]
        for entity, reason in zip(inside, config.unreachable(inside, sizes), strict=True):
            shift = window.first_word
            whole = replace(entity, fragments=tuple((start + shift, end + shift) for start, end in entity.fragments))
            if whole not in reached:
                reached.add(whole)
                check.unreachable.update([reason] if reason else [])
    missed = len(entities) - len(reached)
    if missed:
        check.unreachable["longer than a window"] += missed
