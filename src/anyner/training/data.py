"""From a recipe's data to training examples, with a check before the first step that says what the settings cannot reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from anyner.architectures.settings import HeadConfig
from anyner.corpora.corpus import Corpus, Problem, summary
from anyner.corpora.homes import told_apart
from anyner.corpora.joining import joined, source_documents
from anyner.corpora.neighbours import neighbours_attached
from anyner.corpora.reading import read, read_splits
from anyner.corpora.synthetic import synthetic_splits
from anyner.document import Document
from anyner.errors import AnynerError
from anyner.text.align import WordEntity, to_words
from anyner.text.config import TextConfig
from anyner.text.windows import Window, words_of
from anyner.training.config import DataConfig, Source
from anyner.training.coordination import coordinated
from anyner.training.opinions import DocumentOpinion, read_opinions

_FEW, _WHOLE = 4, 16
"""Sentences of dev that are read together; those of no known document stand in for one of so many."""


@dataclass(frozen=True, slots=True)
class Splits:
    train: tuple[Document, ...]
    dev: tuple[Document, ...]
    test: tuple[Document, ...]
    problems: tuple[Problem, ...] = ()
    opinions: tuple[DocumentOpinion | None, ...] = ()
    """Of other models on each training document; empty if there are none."""
    made: int = 0
    """Training documents, the last ones, that were made by joining entities."""

    @property
    def labels(self) -> tuple[str, ...]:
        return Corpus(self.train).labels


def read_data(data: DataConfig, text: TextConfig, dev_trains: bool = False) -> Splits:
    """The documents of a recipe, with their neighbouring sentences attached where the recipe asks for context.

    `dev_trains` makes training documents of those of dev, which is empty then.
    """
    if data.synthetic is not None:
        sizes = (data.synthetic.train, data.synthetic.dev, data.synthetic.test)
        synthetic = synthetic_splits(sizes, data.synthetic.seed, data.synthetic.contiguous)
        corpora = [synthetic.train, synthetic.dev, synthetic.test]
    elif data.folder is not None:
        found = read_splits(data.folder)
        if found.train is None or (found.dev is None and not data.held_out):
            raise AnynerError(f"{data.folder}: a training needs files named train and dev, or a share of train as data.held_out")
        splits = {"train": found.train, "dev": found.dev or Corpus(()), "test": found.test or Corpus(())}
        corpora = told_apart([(f"{data.folder}/{name}", corpus) for name, corpus in splits.items()])
    else:
        corpora = _joined((data.train, data.dev, data.test))
    train, dev, test = (corpus.documents for corpus in corpora)
    if data.held_out:
        train, dev = held_out((*train, *dev), data.held_out)
    if text.context:
        everything = [*train, *dev, *test]
        train, dev, test = (neighbours_attached(documents, text.context, everything) for documents in (train, dev, test))
    if dev_trains:
        train, dev = (*train, *dev), ()
    made = joined_sentences(train, data, text)
    problems = [problem for corpus in corpora for problem in corpus.problems]
    opinions: list[DocumentOpinion | None] = []
    if data.opinions:
        opinions, of_files = read_opinions(data.opinions, (*train, *made))
        problems += of_files
    return Splits((*train, *made), dev, test, tuple(problems), tuple(opinions), len(made))


def joined_sentences(train: Sequence[Document], data: DataConfig, text: TextConfig) -> tuple[Document, ...]:
    """Those that the settings want more, made from the training documents."""
    return coordinated(train, text, data.coordinated, data.conjunctions, most=data.joined) if data.coordinated else ()


def held_out(documents: Sequence[Document], share: float) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Train and dev, whole `doc`s on either side: dev has the last ones, for new texts are more like the end of a corpus.

    A document without `doc` stands for itself.
    """
    homes = homes_of(documents)
    in_order = list(dict.fromkeys(homes))
    chosen = set(in_order[-max(1, round(len(in_order) * share)) :])
    train = tuple(document for document, home in zip(documents, homes, strict=True) if home not in chosen)
    if not train:
        raise AnynerError(f"data.held_out: a share of {share:g} leaves no document to train on")
    return train, tuple(document for document, home in zip(documents, homes, strict=True) if home in chosen)


def dev_passages(documents: Sequence[Document], passages: bool = True) -> tuple[Document, ...]:
    """Dev as a model will read: a third of the source documents sentence by sentence, a third a few sentences at a time, a third
    whole; with blanks between the sentences, or line breaks. Without `passages`, as they are.
    """
    if not passages:
        return tuple(documents)
    read: list[Document] = []
    for number, sentences in enumerate(source_documents(documents, _WHOLE)):
        size, separator = (1, _FEW, len(sentences))[number % 3], " \n"[number // 3 % 2]
        read += [joined(sentences[start : start + size], separator) for start in range(0, len(sentences), size)]
    return tuple(read)


def homes_of(documents: Sequence[Document]) -> list[str | int]:
    """The larger document that each is a part of; one without `doc` stands for itself, by its number."""
    return [document.doc if document.doc is not None else number for number, document in enumerate(documents)]


def _joined(parts: Sequence[Sequence[Source]]) -> list[Corpus]:
    """A corpus for each part, from all its files."""
    files = iter(told_apart([(source.path, _read(source)) for sources in parts for source in sources]))
    corpora = []
    for sources in parts:
        own = list(islice(files, len(sources)))
        problems = tuple(problem for file in own for problem in file.problems)
        corpora.append(Corpus(tuple(document for file in own for document in file), problems))
    return corpora


def _read(source: Source) -> Corpus:
    corpus = read(source.path, source.format)
    if source.labels is None:
        return corpus
    annotated = frozenset(source.labels)
    for number, document in enumerate(corpus, 1):
        if strange := next((e.label for e in document.entities if e.label not in annotated), None):
            where = f"{source.path}: document {document.id or number}"
            raise AnynerError(f"{where} has an entity {strange}, which its `labels` in the recipe do not name")
    return Corpus(tuple(replace(document, labels=annotated) for document in corpus), corpus.problems)


@dataclass(slots=True)
class DataCheck:
    """What was found in the training data before the first step."""

    problems: tuple[Problem, ...] = ()
    entities: int = 0
    misaligned: list[str] = field(default_factory=list)
    unreachable: Counter[str] = field(default_factory=Counter)
    unknown_labels: Counter[str] = field(default_factory=Counter)
    dev_from_train: int = 0
    """Dev documents that are parts of the same larger documents as some of train."""

    def lines(self) -> list[str]:
        """One line for each thing a user should know; none when all is well."""
        found = []
        if self.problems:
            found.append(summary(self.problems))
        if self.misaligned:
            found.append(f"{len(self.misaligned)} entities not on word boundaries, the first: {self.misaligned[0]}")
        for reason, count in self.unreachable.most_common():
            share = 100 * count / max(1, self.entities)
            found.append(f"{count} of {self.entities} training entities ({share:.1f} %) cannot be reached: {reason}")
        for label, count in self.unknown_labels.most_common():
            found.append(f"{count} dev entities have the label {label}, which training never shows: they count as missed")
        if self.dev_from_train:
            found.append(
                f"{self.dev_from_train} dev documents have the `doc` of train ones: dev flatters; data.held_out keeps them apart"
            )
        return found


def word_entities(document: Document, text: TextConfig, check: DataCheck) -> list[WordEntity]:
    """A document's entities in words of the whole document; what does not sit on word boundaries is noted."""
    words = list(words_of(document, text))
    aligned = to_words(document.entities, [start for start, _ in words], [end for _, end in words])
    check.misaligned.extend(f"{document.id or 'a document'}: {misalignment}" for misalignment in aligned.misaligned)
    check.entities += len(document.entities)
    return list(aligned.entities)


def entities_in(window: Window, entities: Sequence[WordEntity]) -> list[WordEntity]:
    """Those that lie wholly inside the window, in its own word numbers."""
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
