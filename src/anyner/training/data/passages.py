"""Training passages of one, a few or many sentences, sampled again in each epoch, because real text has all these lengths;
and the batches of each epoch: passages of similar length, shuffled, the same for the same seed.

A source document is read whole, in short passages, or sentence by sentence, each with the same probability.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import pairwise

import numpy as np

from anyner.encoding.examples import Example
from anyner.inference.batching import batches, window_size
from anyner.training.config import TrainingConfig

_SENTENCE_ENDS = frozenset(".!?。！？…")
_CLOSING = frozenset("\"'”’»)]】」』")
_FEW = 4
"""Mean number of sentences in a short passage."""
_KINDS = 3
"""Ways to read a document: whole, in short passages, sentence by sentence."""
_POOL = 50
"""Batches sorted by length together: enough to save padding, few enough that each batch stays a random sample."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Sentences that are read together."""

    sentences: tuple[int, ...]
    breaks: tuple[bool, ...]
    """Whether a line break stands before each of them."""


@dataclass(frozen=True, slots=True)
class _Sentences:
    """All sentences of the training examples, one array per field, as there may be millions."""

    example: array[int]  # the example that it is in
    first: array[int]  # its first word there
    stop: array[int]  # the word after its last one
    whole: array[int]  # whether it is all of the example
    size: array[int]  # its own pieces, and the separators between its lines
    before: array[int]  # pieces of the text before it, read as context only
    after: array[int]
    times: array[int]  # how often it is seen in an epoch
    continues: array[int]  # whether the sentence before is in the same text, which says if a line break separates them
    new_line: array[int]  # whether it begins a line


class Passages:
    """The passages of every epoch of a training."""

    def __init__(self, examples: Sequence[Example], room: int, seed: int, one_each: bool = False) -> None:
        """A passage has at most `room` pieces. `one_each`: every example is one passage."""
        self._examples, self._room, self._seed = examples, room, seed
        columns = [array("i") for _ in fields(_Sentences)]
        groups: dict[tuple[Hashable, ...], array[int]] = defaultdict(lambda: array("i"))
        self.words = 0
        """Number of words in all examples."""
        for place, example in enumerate(examples):
            parts = [example] if one_each else sentences_of(example)
            is_own_source = one_each or (example.source is None and len(parts) > _FEW)
            source = place if is_own_source else example.source
            first = 0
            for number, part in enumerate(parts):
                groups[(source, *_alike(part))].append(len(columns[0]))
                window, stop = part.window, first + len(part.window.words)
                size = window_size(window) - len(window.before) - len(window.after)
                context, new_line = (len(window.before), len(window.after)), window.line_starts[:1] == (0,)
                row = (place, first, stop, len(parts) == 1, size, *context, part.times, number > 0, new_line)
                for column, value in zip(columns, row, strict=True):
                    column.append(value)
                first = stop
            self.words += first
        self._sentences = _Sentences(*columns)
        self._groups = [(key[0], places) for key, places in groups.items()]

    def of(self, epoch: int) -> list[Passage]:
        """The passages of an epoch, counted from 0."""
        random, times = np.random.default_rng([self._seed, epoch]), self._sentences.times
        return [
            passage
            for source, places in self._groups
            for again in range(max(times[place] for place in places))
            for passage in self._drawn([place for place in places if times[place] > again], source, random)
        ]

    def example(self, passage: Passage) -> Example:
        return Example.joined([self._sentence(place) for place in passage.sentences], passage.breaks)

    def _sentence(self, place: int) -> Example:
        held = self._sentences
        example = self._examples[held.example[place]]
        return example if held.whole[place] else example.part(held.first[place], held.stop[place])

    def size(self, passage: Passage) -> int:
        """Number of pieces that the encoder reads, without special ones."""
        held, first, last = self._sentences, passage.sentences[0], passage.sentences[-1]
        own = sum(held.size[place] for place in passage.sentences)
        return own + sum(passage.breaks) + held.before[first] + held.after[last]

    def _drawn(self, places: Sequence[int], source: Hashable, random: np.random.Generator) -> Iterator[Passage]:
        # sentences without a `doc` are read together in file order
        documents = [places] if source is not None else self._runs(places, lambda: len(places))
        for document in documents:
            kind = int(random.integers(_KINDS))
            break_rate = random.choice((0.0, 0.5, 1.0))  # separated by blanks, by both, by line breaks
            for together in self._runs(document, partial(_most, kind, len(document), random)):
                drawn = random.random(len(together)) < break_rate
                yield Passage(tuple(together), tuple(self._breaks(together, drawn.tolist())))

    def _runs(self, places: Sequence[int], draw_most: Callable[[], int]) -> Iterator[list[int]]:
        """Runs of consecutive sentences that fit into a window; `draw_most` gives the maximum length of each."""
        held: list[int] = []
        size, most = 0, 0
        for place in places:
            own = self._sentences.size[place] + 1
            if held and (len(held) >= most or size + own + self._sentences.after[place] > self._room):
                yield held
                held = []
            if not held:
                most = draw_most()
                size = self._sentences.before[place]
            held.append(place)
            size += own
        if held:
            yield held

    def _breaks(self, places: Sequence[int], drawn: Sequence[bool]) -> Iterator[bool]:
        yield False
        for (before, place), by_chance in zip(pairwise(places), drawn[1:], strict=True):
            known = self._sentences.continues[place] and place == before + 1
            yield bool(self._sentences.new_line[place]) if known else by_chance


def epoch_batches(passages: Passages, extra: int, config: TrainingConfig, epoch: int) -> list[list[Passage]]:
    """The batches of an epoch, counted from 0. `extra`: additional pieces in each row."""
    drawn = passages.of(epoch)
    sizes = [passages.size(passage) + extra for passage in drawn]
    sentences = [len(passage.sentences) for passage in drawn]
    random = np.random.default_rng([config.seed, epoch])
    order = random.permutation(len(sizes)).tolist()
    pool = max(1, round(_POOL * config.batch_sentences * len(sizes) / max(1, sum(sentences))))
    plan: list[list[int]] = []
    for start in range(0, len(order), pool):
        sorted_pool = sorted(order[start : start + pool], key=sizes.__getitem__)
        plan.extend(batches(sizes, sorted_pool, config.batch_tokens, config.batch_sentences, sentences))
    return [[drawn[place] for place in plan[number]] for number in random.permutation(len(plan))]


def _most(kind: int, sentences: int, random: np.random.Generator) -> int:
    """Maximum number of sentences in the next passage."""
    return (sentences, 1 + int(random.geometric(1 / (_FEW - 1))), 1)[kind]


def _alike(example: Example) -> tuple[Hashable, ...]:
    """What examples of one passage must have in common."""
    soft = example.soft_labels
    return (example.annotated.tobytes(), None if soft is None else (soft.weight, soft.covers_discontinuous))


def sentences_of(example: Example) -> list[Example]:
    """The example split into sentences by simple rules; no entity is cut."""
    cuts = [0, *_cuts(example), len(example.window.words)]
    return [example.part(first, stop) for first, stop in pairwise(cuts)] if len(cuts) > 2 else [example]


def _cuts(example: Example) -> Iterator[int]:
    """Words at which a sentence begins: after a full stop and closing marks, or on a new line."""
    words, lines = example.window.words, frozenset(example.window.line_starts)
    covered = np.zeros(len(words) + 1, dtype=np.int64)  # whether an entity reaches from the word before into this one
    np.add.at(covered, example.entities.first + 1, 1)
    np.add.at(covered, example.entities.last + 1, -1)
    inside = np.cumsum(covered) > 0
    ended = False
    for place, word in enumerate(words):
        begins = place in lines or (ended and word not in _CLOSING and word not in _SENTENCE_ENDS)
        if begins and place and not inside[place]:
            yield place
        ended = word in _SENTENCE_ENDS or (ended and not begins)
